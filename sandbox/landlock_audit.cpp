#include "sandbox/landlock_audit.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/capabilities.h"
#include "sandbox/landlock.h"
#include "sandbox/setup_error.h"

#ifndef CAP_AUDIT_READ
#define CAP_AUDIT_READ 37
#endif

namespace factionos::sandbox {
namespace {

constexpr std::uint32_t kReadLogGroup = 1;  // AUDIT_NLGRP_READLOG
constexpr auto kToldWithin = std::chrono::milliseconds(200);
constexpr int kDenials = 3;  // a busy kernel loses records

Fd join() {
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_AUDIT));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1U << (kReadLogGroup - 1);
  if (!socket || bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return socket;
}

// In the child: is denied something, and waits to be ended, so that its number stays its own. It ends with
// its parent, whenever that is.
[[noreturn]] void beDenied(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent) _exit(0);
  try {
    LandlockPolicy nothing;
    nothing.scopes = {Need::kOff, Need::kOff};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) restrictByLandlock(nothing);
    for (int i = 0; i < kDenials; ++i) const Fd denied(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  } catch (const SetupError&) {
  }
  while (true) pause();
}

bool isTold(int socket, pid_t child) {
  const auto end = std::chrono::steady_clock::now() + kToldWithin;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    // One at a time: what others are denied may never end.
    ReadRecord record;
    if (!readLandlockAudit(socket, record)) {
      pollfd ready{socket, POLLIN, 0};
      if (poll(&ready, 1, static_cast<int>(left)) < 0 && errno != EINTR) return false;
      continue;
    }
    const auto* read = std::get_if<LandlockRecord>(&record);
    const auto* domain = read != nullptr ? std::get_if<LandlockDomain>(read) : nullptr;
    if (domain != nullptr && domain->maker == child) return true;
  }
}

bool works(int socket) {
  const pid_t parent = getpid();
  const pid_t child = checked(Step::kLandlock, fork(), "fork_refused");
  if (child == 0) beDenied(parent);
  const bool told = isTold(socket, child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return told;
}

}  // namespace

LandlockAudit joinLandlockAudit() {
  const bool may = hasCapability(CAP_AUDIT_READ);
  const bool makesRecords = landlockAbi() >= kAbiOfAudit;
  LandlockAudit audit;
  // Without the capability its kind may look into this process, and take descriptors from it.
  if (may && makesRecords) {
    checked(Step::kDumpable, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable_refused");
    audit.socket = join();
  }
  if (may) dropCapability(CAP_AUDIT_READ);
  if (!makesRecords) return audit;
  audit.reading = AuditReading::kNoCapability;
  if (!audit.socket) return audit;
  // A machine that is busy being denied things loses records: once more.
  const bool told = works(audit.socket.get()) || works(audit.socket.get());
  audit.reading = told ? AuditReading::kRead : AuditReading::kNotEnabled;
  if (audit.reading != AuditReading::kRead) audit.socket.reset();
  return audit;
}

bool readLandlockAudit(int socket, ReadRecord& record) {
  record = LandlockRecord{};
  std::array<char, NLMSG_HDRLEN + kMostRecordBytes + 1> bytes;
  sockaddr_nl sender{};
  socklen_t length = sizeof sender;
  const ssize_t size = recvfrom(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC,
                                reinterpret_cast<sockaddr*>(&sender), &length);
  if (size < 0 && errno == ENOBUFS) {
    record = RecordsLost{};
    return true;
  }
  if (size < 0) return false;
  const auto got = static_cast<std::size_t>(size);
  // The kernel's own, whole.
  if (length != sizeof sender || sender.nl_pid != 0 || got < NLMSG_HDRLEN || got > bytes.size()) return true;
  nlmsghdr header{};
  std::copy_n(bytes.data(), sizeof header, reinterpret_cast<char*>(&header));
  record = parseLandlockRecord(header.nlmsg_type, {bytes.data() + NLMSG_HDRLEN, got - NLMSG_HDRLEN});
  return true;
}

}  // namespace factionos::sandbox
