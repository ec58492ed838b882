// Landlock: file rights, TCP ports and scopes, as far as the kernel's ABI goes.
// The headers of Debian 12 end at ABI 2, so every constant up to ABI 7 is our own (source: the kernel's
// include/uapi/linux/landlock.h and Documentation/userspace-api/landlock.rst).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/need.h"

namespace factionos::sandbox {

// A set of file rights. The bits are the kernel's own (LANDLOCK_ACCESS_FS_*).
struct Access {
  std::uint64_t bits = 0;

  [[nodiscard]] constexpr bool has(Access other) const { return (bits & other.bits) == other.bits; }
  [[nodiscard]] constexpr bool empty() const { return bits == 0; }
  friend constexpr Access operator|(Access a, Access b) { return {a.bits | b.bits}; }
  friend constexpr Access operator&(Access a, Access b) { return {a.bits & b.bits}; }
  friend constexpr Access operator-(Access a, Access b) { return {a.bits & ~b.bits}; }
  friend constexpr bool operator==(Access, Access) = default;
};

namespace access {
inline constexpr Access kExecute{1ULL << 0};
inline constexpr Access kWriteFile{1ULL << 1};
inline constexpr Access kReadFile{1ULL << 2};
inline constexpr Access kReadDir{1ULL << 3};
inline constexpr Access kRemoveDir{1ULL << 4};
inline constexpr Access kRemoveFile{1ULL << 5};
inline constexpr Access kMakeChar{1ULL << 6};
inline constexpr Access kMakeDir{1ULL << 7};
inline constexpr Access kMakeReg{1ULL << 8};
inline constexpr Access kMakeSock{1ULL << 9};
inline constexpr Access kMakeFifo{1ULL << 10};
inline constexpr Access kMakeBlock{1ULL << 11};
inline constexpr Access kMakeSym{1ULL << 12};
inline constexpr Access kRefer{1ULL << 13};     // ABI 2: rename or link between directories
inline constexpr Access kTruncate{1ULL << 14};  // ABI 3
inline constexpr Access kIoctlDev{1ULL << 15};  // ABI 5: ioctl on devices opened from now on

inline constexpr Access kNone{};
inline constexpr Access kRead = kReadFile | kReadDir;
inline constexpr Access kReadExec = kRead | kExecute;
inline constexpr Access kCreate = kMakeDir | kMakeReg | kMakeSym | kMakeFifo | kRefer;
inline constexpr Access kRemove = kRemoveFile | kRemoveDir;
inline constexpr Access kWrite = kWriteFile | kTruncate;
inline constexpr Access kReadWrite = kRead | kWrite | kCreate | kRemove;  // a tree of files, no execution
inline constexpr Access kReadWriteExec =
    kReadWrite | kExecute | kMakeSock;                                 // a workspace where things are built
inline constexpr Access kDevice = kReadFile | kWriteFile | kIoctlDev;  // one device node or a terminal
inline constexpr Access kAll{(1ULL << 16) - 1};
}  // namespace access

// Signals and abstract sockets can be kept within the domain from this ABI on.
inline constexpr int kAbiOfPorts = 4;
inline constexpr int kAbiOfScopes = 6;
// Denials are told to the kernel's audit from this one on (landlock_audit.h).
inline constexpr int kAbiOfAudit = 7;

// The file rights that an ABI can refuse; empty at 0.
Access rightsOfAbi(int abi);

// One grant: a path, or a descriptor opened before (O_PATH is enough; borrowed, must be open when enter()
// runs).
struct FileRule {
  std::string path;
  int descriptor = -1;  // used instead of `path` if not -1
  Access access;
  std::string_view reason;
  Need need = Need::kRequired;  // what to do if the path does not exist: kIfAvailable skips it
};

FileRule allowPath(std::string path, Access access, std::string_view reason);
FileRule allowPathIfPresent(std::string path, Access access, std::string_view reason);
FileRule allowDescriptor(int descriptor, Access access, std::string_view reason);

enum class FileScope {
  // Files are as without this layer (a relaxation: say why). If the layer restricts anything else, it grants
  // moving between directories at "/" of this moment: the kernel then refuses every mount below it, and what
  // a
  // new root holds would not be covered. So who has mounts below itself enters no layer.
  kUnrestricted,
  kListedOnly,  // nothing but the rules; an empty list denies every open
};

struct FileRules {
  FileScope scope = FileScope::kListedOnly;
  std::vector<FileRule> rules;
  // Rights that the kernel must be able to refuse. Those of ABI 1 are always required; name kTruncate here to
  // refuse a kernel below ABI 3, and so on. What is not required and not there is listed in Posture::missing.
  Access mustEnforce;
};

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // included
};

// TCP by port (ABI 4). Landlock knows ports, not addresses. With need off, TCP is not restricted by Landlock.
struct TcpRules {
  Need need = Need::kOff;
  std::vector<PortRange> bind;
  std::vector<PortRange> connect;
};

// Each range but the one port, for "every port but our own".
std::vector<PortRange> everyPortBut(std::uint16_t port);

// ABI 6: no connection to an abstract socket, and no signal to a process, made outside of this sandbox.
struct Scopes {
  Need abstractSockets = Need::kRequired;
  Need signals = Need::kRequired;
};

// Whose denials by this layer the kernel's audit records, where it is enabled. Nothing is decided by it.
enum class DenialLog {
  kAsUsual,   // of this program, until another one is executed
  kPrograms,  // of what is executed from here on, and not of this program: ABI 7, else as usual
};

struct LandlockPolicy {
  FileRules files;
  TcpRules tcp;
  Scopes scopes;
  DenialLog log = DenialLog::kAsUsual;
};

struct LandlockPosture {
  int abi = 0;  // as the kernel told; 0 if there is none
  bool active = false;
  Access filesEnforced;
  bool tcpEnforced = false;
  bool abstractSocketsScoped = false;
  bool signalsScoped = false;
  std::vector<std::string_view>
      missing;  // labels: "landlock_truncate", "landlock_ioctl_dev", "landlock_tcp", ...
};

// The ABI by syscall (landlock_create_ruleset with the version flag): 0 if absent or disabled.
int landlockAbi();

// The labels of what restrictByLandlock() would leave out at `abi`. Throws as it does.
std::vector<std::string_view> missingAt(int abi, const LandlockPolicy& policy);

// Restricts this thread for good. no_new_privs must stand. Throws SetupError at Step::kLandlock:
// "landlock_missing" when there is none and the policy restricts anything at all. Uses no capability, opens
// only the paths of the rules.
LandlockPosture restrictByLandlock(const LandlockPolicy& policy);

}  // namespace factionos::sandbox
