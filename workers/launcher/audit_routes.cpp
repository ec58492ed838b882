#include "workers/launcher/audit_routes.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "workers/common/audited_denial.h"

namespace factionos::launcher {
namespace {

constexpr std::size_t kMostDomains = 4096;
constexpr int kDatagramsAtOnce = 256;

// "4711 (any name) S 4710 …"; 0: it is gone.
pid_t parentOf(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  const sandbox::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> buffer{};
  const ssize_t size = file ? read(file.get(), buffer.data(), buffer.size()) : -1;
  if (size <= 0) return 0;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
  constexpr std::size_t kToParent = 4;  // ") S "
  const std::size_t end = text.rfind(')');
  pid_t parent = 0;
  if (end != std::string_view::npos && end + kToParent < text.size())
    std::from_chars(text.data() + end + kToParent, text.data() + text.size(), parent);
  return parent;
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
    if (!passAll()) return kj::READY_NOW;
    return run();
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
