#include "sandbox/self_check.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/events.h"
#include "sandbox/families.h"
#include "sandbox/setup_error.h"

namespace factionos::sandbox {
namespace {

constexpr int kFilterAnswer = EADV;  // an errno that no kernel path of today gives

// Descriptors of our own making would lie in the lowest free numbers; the steps of enter() never hold more
// than this.
constexpr int kOurDescriptors = 16;

long control(unsigned long option, unsigned long argument) {
  return syscall(SYS_prctl, option, argument, 0UL, 0UL, 0UL);
}

// A number for the policy's name (FNV-1a), so that the answer of an outer filter is not taken for ours. Never
// 0.
std::uint64_t markOf(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash | 1;
}

bool isRoot(const FileRule& rule, const struct stat& root) {
  struct stat status {};
  const int result =
      rule.descriptor >= 0 ? fstat(rule.descriptor, &status) : stat(rule.path.c_str(), &status);
  return result == 0 && status.st_dev == root.st_dev && status.st_ino == root.st_ino;
}

// 0, or an errno.
int listRoot() {
  const Fd root(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return root ? 0 : errno;
}

[[noreturn]] void fail(int error, const char* reason) {
  throw SetupError(Step::kSelfCheck, error, reason);
}

}  // namespace

LandlockProbe LandlockProbe::before(const FileRules& rules) {
  struct stat root {};
  if (rules.scope != FileScope::kListedOnly || stat("/", &root) != 0 || listRoot() != 0) {
    return LandlockProbe(Expect::kNothing);
  }
  const bool granted = std::any_of(rules.rules.begin(), rules.rules.end(), [&root](const FileRule& rule) {
    return rule.access.has(access::kReadDir) && isRoot(rule, root);
  });
  return LandlockProbe(granted ? Expect::kNothing : Expect::kDenial);
}

void LandlockProbe::after() const {
  if (expect_ == Expect::kNothing) return;
  if (const int error = listRoot(); error != EACCES) fail(error, "landlock_does_not_hold");
}

SeccompPolicy withSelfCheck(const Policy& policy) {
  Family asked{"selfCheck", {}};
  asked.calls.push_back({SCMP_SYS(prctl), {is32(0, PR_GET_NO_NEW_PRIVS), is64(1, 0)}});
  asked.calls.push_back({SCMP_SYS(prctl), {is32(0, PR_GET_SECCOMP)}});
  asked.calls.push_back({SCMP_SYS(prctl), {is32(0, PR_GET_DUMPABLE)}});
  asked.calls.push_back({SCMP_SYS(fcntl), {is32(1, F_GETFD)}});
  Family answer{"filterAnswer", {}};
  answer.calls.push_back({SCMP_SYS(prctl), {is32(0, PR_GET_NO_NEW_PRIVS), is64(1, markOf(policy.name))}});

  SeccompPolicy result = policy.seccomp;
  std::vector<SeccompRule> own;
  own.push_back(allow(std::move(asked), "the check after entering"));
  own.push_back(refuse(std::move(answer), kFilterAnswer, "proves that this filter is the one that runs"));
  if (policy.traps == Traps::kReport) {
    own.push_back(kill(families::trapHandlerChange(), "who replaces the handler could hide a trapped call"));
  }
  if (policy.seccomp.listenerTo >= 0) {
    own.push_back(allow({"handListenerOver", {{SCMP_SYS(sendmsg), {}}, {SCMP_SYS(close), {}}}},
                        "the supervisor needs the listener"));
  }
  result.rules.insert(result.rules.begin(), own.begin(), own.end());
  return result;
}

void checkSelf(const Policy& policy) {
  if (control(PR_GET_NO_NEW_PRIVS, 0) != 1) fail(errno, "no_new_privs_does_not_hold");
  if (control(PR_GET_DUMPABLE, 0) != 0) fail(errno, "still_dumpable");
  const int highest = policy.keep.empty() ? 0 : *std::max_element(policy.keep.begin(), policy.keep.end());
  if (firstUnexpected(policy.keep, std::max(highest, 2) + kOurDescriptors) >= 0)
    fail(EBADF, "descriptor_left_open");
  if (policy.seccomp.scope == SeccompScope::kNone) return;
  if (control(PR_GET_SECCOMP, 0) != SECCOMP_MODE_FILTER) fail(errno, "seccomp_does_not_hold");
  errno = 0;
  if (control(PR_GET_NO_NEW_PRIVS, markOf(policy.name)) != -1 || errno != kFilterAnswer) {
    fail(errno, "seccomp_does_not_hold");
  }
}

void sendListener(int socket, const Fd& listener) {
  char letter = 'L';
  iovec content{&letter, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = listener.get();
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  checked(Step::kSeccomp, sendmsg(socket, &message, MSG_NOSIGNAL), "listener_not_taken");
}

}  // namespace factionos::sandbox
