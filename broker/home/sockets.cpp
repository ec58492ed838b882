#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker/home/entry.h"
#include "broker/home/home.h"

namespace factionos::home {
namespace {

Status fitsSocketAddress(const std::string& directory) {
  const std::size_t longest = directory.size() + 1 + std::string_view(kOperatorSocketName).size();
  if (longest < sizeof(sockaddr_un::sun_path)) return {};
  return Problem{ProblemCode::kInvalid, "the home's path is too long for the address of a unix socket",
                 "choose a home with a path below 80 characters"};
}

Result<gid_t> groupOf(const std::string& name) {
  std::vector<char> buffer(64 * 1024);  // a group's entry lists its members
  struct group entry {};
  struct group* found = nullptr;
  if (::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return Problem{ProblemCode::kNotFound, "config.toml: group: there is no such group",
                   "make it with groupadd, or name another"};
  }
  return found->gr_gid;
}

// The service manager makes it (RuntimeDirectory=): ours, entered by the group, written by nobody else.
Result<sandbox::Fd> openSystemDirectory(const std::string& path) {
  sandbox::Fd entry(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!entry) {
    Problem problem = systemProblem("open", "the socket directory", errno);
    problem.remedy = "make it as root: install -d -o USER -g GROUP -m 750 /run/factionos";
    return problem;
  }
  struct stat status {};
  if (::fstat(entry.get(), &status) != 0) return systemProblem("look at", "the socket directory", errno);
  const bool safe =
      S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!safe) {
    return Problem{ProblemCode::kUnsafe,
                   "the socket directory is not a directory that only this user may change",
                   "as root: chown USER:GROUP /run/factionos && chmod 750 /run/factionos"};
  }
  sandbox::Fd opened(::openat(entry.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return systemProblem("open", "the socket directory", errno);
  return opened;
}

}  // namespace

Result<SocketPlace> socketPlace(const Home& home, Mode mode, const std::string& groupName,
                                const std::string& systemDirectory) {
  SocketPlace place;
  if (mode == Mode::kUser) {
    place.path = home.path() + "/run";
    place.directory = sandbox::Fd(::fcntl(home.fd(Folder::kRun), F_DUPFD_CLOEXEC, 0));
    if (!place.directory) return systemProblem("open", "run/", errno);
  } else {
    auto group = groupOf(groupName);
    if (!group) return group.problem();
    auto directory = openSystemDirectory(systemDirectory);
    if (!directory) return directory.problem();
    place = {std::move(*directory), systemDirectory, 0660, *group};
  }
  if (Status fits = fitsSocketAddress(place.path); !fits) return fits.problem();
  return place;
}

}  // namespace factionos::home
