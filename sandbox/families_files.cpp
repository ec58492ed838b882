// Families about what a file is, beside what it holds.
#include <fcntl.h>
#include <seccomp.h>
#include <sys/stat.h>

#include "sandbox/families.h"
#include "sandbox/syscalls.h"

namespace factionos::sandbox::families {
namespace {

constexpr int kMemfdSecret = 447;
constexpr std::uint64_t kUnnamed{O_TMPFILE & ~O_DIRECTORY};  // the bit of O_TMPFILE that is its own

}  // namespace

Family setIdModes() {
  Family family{"setIdModes", {}};
  for (const std::uint64_t bit : {std::uint64_t{S_ISUID}, std::uint64_t{S_ISGID}}) {
    const auto refused = [bit](unsigned argument) { return masked(argument, bit, bit); };
    family.calls.insert(family.calls.end(), {{SCMP_SYS(chmod), {refused(1)}},
                                             {SCMP_SYS(fchmod), {refused(1)}},
                                             {SCMP_SYS(fchmodat), {refused(2)}},
                                             {calls::kFchmodat2, {refused(2)}},
                                             {SCMP_SYS(creat), {refused(1)}},
                                             {SCMP_SYS(mknod), {refused(1)}},
                                             {SCMP_SYS(mknodat), {refused(2)}}});
    // Without one of these flags the mode is not looked at, and callers leave there what they like.
    for (const std::uint64_t made : {std::uint64_t{O_CREAT}, kUnnamed}) {
      family.calls.push_back({SCMP_SYS(open), {masked(1, made, made), refused(2)}});
      family.calls.push_back({SCMP_SYS(openat), {masked(2, made, made), refused(3)}});
    }
  }
  return family;
}

Family openByStructure() {
  return {"openByStructure", {{SCMP_SYS(openat2), {}}}};
}

Family memoryFiles() {
  return {"memoryFiles", {{SCMP_SYS(memfd_create), {}}, {kMemfdSecret, {}}}};
}

Family attributesByPath() {
  return {"attributesByPath",
          {{SCMP_SYS(setxattr), {}},
           {SCMP_SYS(lsetxattr), {}},
           {SCMP_SYS(removexattr), {}},
           {SCMP_SYS(lremovexattr), {}},
           {calls::kSetxattrat, {}},
           {calls::kRemovexattrat, {}},
           {calls::kFileSetattr, {}}}};
}

Family fileNotification() {
  return {"fileNotification", {{SCMP_SYS(fanotify_init), {}}, {SCMP_SYS(fanotify_mark), {}}}};
}

}  // namespace factionos::sandbox::families
