#include "workers/launcher/audit_routes.h"

#include <array>
#include <cstddef>
#include <span>

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workers/common/audited_denial.h"

namespace factionos::launcher {
namespace {

constexpr std::size_t kMostDomains = 4096;
constexpr int kDatagramsAtOnce = 256;

// include/uapi/linux/pidfd.h of Linux 6.13, in its first size; records there are from 6.15 on.
struct ProcessInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::uint32_t process = 0;
  std::uint32_t group = 0;
  std::uint32_t parent = 0;
  std::array<std::uint32_t, 8> users = {};
  std::int32_t exitCode = 0;
};
static_assert(sizeof(ProcessInfo) == 64);
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, ProcessInfo);

// 0: it is gone. Not by /proc, which may hide what may not be looked into.
pid_t parentOf(pid_t process) {
  const sandbox::Fd handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0U)));
  ProcessInfo info;
  if (!handle || ioctl(handle.get(), kGetInfo, &info) != 0) return 0;
  return static_cast<pid_t>(info.parent);
}

}  // namespace

AuditRoutes::AuditRoutes(rpc::Loop& loop, Reaper& reaper, AuditReader reader)
    : loop_(loop), line_(std::move(reader.line)), tasks_(*this) {
  tasks_.add(reaper.watch(reader.process).ignoreResult());
  tasks_.add(run());
}

void AuditRoutes::add(pid_t session, rpc::OwnFd line) {
  sessions_[session] = kj::mv(line);
}

void AuditRoutes::remove(pid_t session) {
  sessions_.erase(session);
  std::erase_if(domains_, [session](const auto& each) { return each.second == session; });
}

kj::Promise<void> AuditRoutes::run() {
  return loop_.waitReadable(line_.get()).then([this]() -> kj::Promise<void> {
    if (passAll()) return run();
    read_ = false;
    const auto lost = worker::encode({});
    pass(0, 0, lost.data(), lost.size());
    sessions_.clear();
    return kj::READY_NOW;
  });
}

bool AuditRoutes::passAll() {
  std::array<std::byte, worker::kMostAuditedBytes> datagram;
  for (int i = 0; i < kDatagramsAtOnce; ++i) {
    const ssize_t size = recv(line_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (size == 0) return false;
    if (size < 0) return true;
    const std::span bytes(datagram.data(), static_cast<std::size_t>(size));
    if (const auto denial = worker::decodeAudited(bytes))
      pass(denial->domain, denial->maker, bytes.data(), bytes.size());
  }
  return true;
}

void AuditRoutes::pass(std::uint64_t domain, pid_t maker, const void* datagram, std::size_t size) {
  const auto hand = [datagram, size](const rpc::OwnFd& line) {
    const ssize_t ignored = send(line.get(), datagram, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    static_cast<void>(ignored);
  };
  if (maker == 0) {  // records were lost: anybody's
    for (const auto& [session, line] : sessions_) hand(line);
  } else if (const auto found = sessions_.find(sessionOf(domain, maker)); found != sessions_.end()) {
    hand(found->second);
  }
}

// A command's files are restricted by its gofer, a child of the keeper, which is the session's. What the
// command makes below the gofer can only be further away: a domain of its own is none of ours. Asked at the
// domain's first denial, while the gofer lives: with it ends the tree.
pid_t AuditRoutes::sessionOf(std::uint64_t domain, pid_t maker) {
  if (const auto known = domains_.find(domain); known != domains_.end()) return known->second;
  const pid_t keeper = parentOf(maker);
  pid_t session = keeper > 0 ? parentOf(keeper) : 0;
  if (!sessions_.contains(session)) session = 0;
  if (domains_.size() >= kMostDomains) domains_.erase(domains_.begin());
  domains_[domain] = session;
  return session;
}

}  // namespace factionos::launcher
