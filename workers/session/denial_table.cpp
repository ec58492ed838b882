#include "workers/session/denial_table.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <new>
#include <optional>

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/seccomp.h"
#include "sandbox/setup_error.h"
#include "workers/session/protected_paths.h"

namespace factionos::session {
namespace {

constexpr std::uint64_t kUsed = std::uint64_t{1} << 63;
constexpr std::uint16_t kFurther = 0xffff;
// Held back for protected names: whoever makes up other kinds must not push those out of sight.
constexpr std::size_t kRowsOfProtected = 40;

bool isOfProtected(const Denial& denial) {
  return denial.place == DeniedPlace::kProtected || denial.place == DeniedPlace::kProtectedByGit;
}

// Families without a name of ours are one.
Denial counted(const Denial& denial) {
  constexpr std::array kNamed = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET};
  if (denial.place != DeniedPlace::kNetwork || std::ranges::find(kNamed, denial.detail) != kNamed.end())
    return denial;
  return {denial.operation, denial.source, denial.place, AF_UNSPEC};
}

std::uint64_t keyOf(const Denial& denial) {
  return kUsed | (static_cast<std::uint64_t>(denial.operation) << 32) |
         (static_cast<std::uint64_t>(denial.source) << 24) |
         (static_cast<std::uint64_t>(denial.place) << 16) | denial.detail;
}

std::optional<Denial> denialOf(std::uint64_t key) {
  const auto part = [key](unsigned shift) { return static_cast<std::uint8_t>(key >> shift); };
  if ((key & kUsed) == 0 || part(32) > static_cast<unsigned>(DeniedOperation::kCall) ||
      part(24) > static_cast<unsigned>(DenialSource::kSupervisor) ||
      part(16) > static_cast<unsigned>(DeniedPlace::kApi)) {
    return std::nullopt;
  }
  return Denial{static_cast<DeniedOperation>(part(32)), static_cast<DenialSource>(part(24)),
                static_cast<DeniedPlace>(part(16)), static_cast<std::uint16_t>(key)};
}

std::string familyLabel(std::uint16_t family) {
  switch (family) {
    case AF_UNIX:
      return "network:unix";
    case AF_INET:
      return "network:ipv4";
    case AF_INET6:
      return "network:ipv6";
    case AF_NETLINK:
      return "network:netlink";
    case AF_PACKET:
      return "network:packet";
    default:
      return "network:other";
  }
}

}  // namespace

std::int64_t nowMs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

Denial further(DenialSource source) {
  return {DeniedOperation::kCall, source, DeniedPlace::kNone, kFurther};
}

DenialTable::DenialTable()
    : event_(sandbox::checked(sandbox::Step::kDescriptors, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                              "eventfd_refused")) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) sandbox::failWithErrno(sandbox::Step::kDescriptors, "shared_memory_refused");
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // it lies in two processes
  shared_ = new (memory) Shared{};
}

DenialTable::~DenialTable() {
  munmap(shared_, sizeof(Shared));
}

void DenialTable::add(const Denial& denial) noexcept {
  const std::uint64_t key = keyOf(counted(denial));
  const std::size_t end = isOfProtected(denial) ? kDenialRows : kDenialRows - kRowsOfProtected;
  std::size_t at = 0;
  while (at < end && shared_->rows[at].key != 0 && shared_->rows[at].key != key) ++at;
  if (at == end) at = kDenialRows;
  Row& row = shared_->rows[at];
  const std::int64_t now = nowMs();
  row.lastMs = now;
  if (row.count.fetch_add(1) == 0) {
    row.firstMs = now;
    row.key = at < kDenialRows ? key : keyOf(further(DenialSource::kSeccomp));
  }
  if (shared_->told.exchange(1) == 0) wake();
}

void DenialTable::wake() noexcept {
  const std::uint64_t one = 1;
  const ssize_t ignored = write(event_.get(), &one, sizeof one);
  static_cast<void>(ignored);
}

std::vector<DenialCount> DenialTable::read() {
  std::uint64_t many = 0;
  const ssize_t ignored = ::read(event_.get(), &many, sizeof many);
  static_cast<void>(ignored);
  shared_->told = 0;  // before the rows are read: what comes meanwhile announces itself again
  std::vector<DenialCount> counts;
  for (const Row& row : shared_->rows) {
    if (const std::optional<Denial> denial = denialOf(row.key))
      counts.push_back({*denial, row.count, row.firstMs, row.lastMs});
  }
  return counts;
}

std::string operationLabel(const Denial& denial) {
  switch (denial.operation) {
    case DeniedOperation::kRead:
      return "read";
    case DeniedOperation::kWrite:
      return "write";
    case DeniedOperation::kCreate:
      return "create";
    case DeniedOperation::kExecute:
      return "exec";
    case DeniedOperation::kEnter:
      return "enter";
    case DeniedOperation::kConnect:
      return "connect";
    case DeniedOperation::kCall:
      break;
  }
  return denial.detail == kFurther ? "further" : "syscall:" + sandbox::callName(denial.detail);
}

std::string sourceLabel(const Denial& denial) {
  switch (denial.source) {
    case DenialSource::kSeccomp:
      return "seccomp";
    case DenialSource::kLandlock:
      return "landlock";
    case DenialSource::kNamespace:
      return "namespace";
    case DenialSource::kLandlockAudit:
      return "landlock-audit";
    case DenialSource::kSupervisor:
      break;
  }
  return "supervisor";
}

std::string placeLabel(const Denial& denial) {
  switch (denial.place) {
    case DeniedPlace::kNone:
      return "kernel";
    case DeniedPlace::kProtected: {
      const auto names = protectedNames();
      return denial.detail < names.size() ? "workspace:" + std::string(names[denial.detail].path)
                                          : "workspace:protected";
    }
    case DeniedPlace::kProtectedByGit:
      return "workspace:git-settings";
    case DeniedPlace::kWorkspace:
      return "workspace";
    case DeniedPlace::kTemporary:
      return "temporary";
    case DeniedPlace::kState:
      return "own-state";
    case DeniedPlace::kHome:
      return "home";
    case DeniedPlace::kDevice:
      return "devices";
    case DeniedPlace::kProcess:
      return "processes";
    case DeniedPlace::kSystem:
      return "system";
    case DeniedPlace::kOutside:
      return "outside";
    case DeniedPlace::kNetwork:
      return familyLabel(denial.detail);
    case DeniedPlace::kApi:
      return "api-port";
  }
  return "outside";
}

}  // namespace factionos::session
