#include "broker/home/user.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

namespace factionos::home {
namespace {

void become(const passwd& entry, const std::string& program) {
  if (entry.pw_uid == 0)
    throw UserRefused(program + " never runs as root; name an ordinary user with --user");
  if (::initgroups(entry.pw_name, entry.pw_gid) != 0 ||
      ::setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid) != 0 ||
      ::setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid) != 0)
    throw UserRefused(std::string("can't become the user that --user names: ") + std::strerror(errno));
  if (::setuid(0) == 0) throw UserRefused("the drop of root's rights did not hold");
}

}  // namespace

void becomeUser(const std::optional<std::string>& user, std::string_view program) {
  const std::string name(program);
  const bool isRoot = ::geteuid() == 0 || ::getuid() == 0;
  const passwd* entry = nullptr;
  if (isRoot) {
    if (!user) throw UserRefused(name + " never runs as root: name the user to run as with --user NAME");
    entry = ::getpwnam(user->c_str());
    if (entry == nullptr) throw UserRefused("--user: no such user");
    become(*entry, name);
  } else {
    entry = ::getpwuid(::getuid());
    if (user && (entry == nullptr || *user != entry->pw_name))
      throw UserRefused("--user: only root can become another user");
  }
  if (entry == nullptr) return;
  // Root's own lead elsewhere. Who stayed the same keeps theirs: the command line finds its home by them,
  // too.
  const int replace = isRoot ? 1 : 0;
  ::setenv("HOME", entry->pw_dir, replace);
  ::setenv("USER", entry->pw_name, replace);
  ::setenv("LOGNAME", entry->pw_name, replace);
}

}  // namespace factionos::home
