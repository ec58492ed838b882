#include <array>

#include "sandbox/explain/explain.h"

namespace factionos::sandbox::explain {
namespace {

struct Group {
  Access rights;
  std::string_view text;
};

// Greedy, in this order: a whole group before its parts.
constexpr std::array kGroups = {
    Group{access::kRead, "read"},
    Group{access::kReadFile, "read files"},
    Group{access::kReadDir, "list"},
    Group{access::kWrite, "write"},
    Group{access::kWriteFile, "write without truncating"},
    Group{access::kTruncate, "truncate"},
    Group{access::kCreate, "create and move"},
    Group{access::kMakeDir, "create directories"},
    Group{access::kMakeReg, "create files"},
    Group{access::kMakeSym, "create links"},
    Group{access::kMakeFifo, "create pipes"},
    Group{access::kRefer, "move"},
    Group{access::kRemove, "remove"},
    Group{access::kRemoveFile, "remove files"},
    Group{access::kRemoveDir, "remove directories"},
    Group{access::kExecute, "execute"},
    Group{access::kMakeSock, "create sockets"},
    Group{access::kMakeChar, "create character devices"},
    Group{access::kMakeBlock, "create block devices"},
    Group{access::kIoctlDev, "ioctl"},
};

}  // namespace

std::string rightsText(Access access) {
  std::string text;
  for (const Group& group : kGroups) {
    if (!access.has(group.rights)) continue;
    access = access - group.rights;
    if (!text.empty()) text += ", ";
    text += group.text;
  }
  return text;
}

std::string_view nameOf(Layer layer) {
  constexpr std::array<std::string_view, 7> kNames = {"none",      "seccomp",    "landlock", "mounts",
                                                      "namespace", "supervisor", "system"};
  return kNames.at(static_cast<std::size_t>(layer));
}

}  // namespace factionos::sandbox::explain
