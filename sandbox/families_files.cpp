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

Family makingNames() {
  // O_PATH takes the meaning from all that stands beside it.
  constexpr std::uint64_t kLooked{O_CREAT | O_PATH};
  return {"makingNames",
          {{SCMP_SYS(open), {masked(1, kLooked, O_CREAT)}},
           {SCMP_SYS(openat), {masked(2, kLooked, O_CREAT)}},
           {SCMP_SYS(creat), {}},
           {SCMP_SYS(mkdir), {}},
           {SCMP_SYS(mkdirat), {}},
           {SCMP_SYS(mknod), {}},
           {SCMP_SYS(mknodat), {}},
           {SCMP_SYS(rename), {}},
           {SCMP_SYS(renameat), {}},
           {SCMP_SYS(renameat2), {}},
           {SCMP_SYS(link), {}},
           {SCMP_SYS(linkat), {}},
           {SCMP_SYS(symlink), {}},
           {SCMP_SYS(symlinkat), {}}}};
}

Family openingToWrite() {
  Family family{"openingToWrite", {{SCMP_SYS(truncate), {}}}};
  const auto add = [&family](std::uint64_t mask, std::uint64_t value) {
    family.calls.push_back({SCMP_SYS(open), {masked(1, mask | O_PATH, value)}});
    family.calls.push_back({SCMP_SYS(openat), {masked(2, mask | O_PATH, value)}});
  };
  // 3 is no mode of POSIX; Linux opens for ioctl alone, and asks for both rights.
  for (const std::uint64_t mode : {std::uint64_t{O_WRONLY}, std::uint64_t{O_RDWR}, std::uint64_t{O_ACCMODE}})
    add(O_ACCMODE, mode);
  add(O_TRUNC, O_TRUNC);
  return family;
}

Family removingNames() {
  return {"removingNames", {{SCMP_SYS(unlink), {}}, {SCMP_SYS(unlinkat), {}}, {SCMP_SYS(rmdir), {}}}};
}

Family openingToRead() {
  constexpr std::uint64_t kLooked{O_ACCMODE | O_CREAT | O_TRUNC | O_PATH | O_NOCTTY};
  return {
      "openingToRead",
      {{SCMP_SYS(open), {masked(1, kLooked, O_RDONLY)}}, {SCMP_SYS(openat), {masked(2, kLooked, O_RDONLY)}}}};
}

Family creationMask() {
  return {"creationMask", {{SCMP_SYS(umask), {}}}};
}

Family binding() {
  return {"binding", {{SCMP_SYS(bind), {}}}};
}

Family changingDirectory() {
  return {"changingDirectory", {{SCMP_SYS(chdir), {}}}};
}

}  // namespace factionos::sandbox::families
