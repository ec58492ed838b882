// Files: what lies outside of the profile's own directories, by every way that leads there.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/verify/act.h"
#include "sandbox/verify/attempts.h"
#include "sandbox/verify/world.h"

namespace factionos::sandbox::verify {
namespace {

constexpr int kHomeDescriptor = 5;

bool gotSecret(const World& world, const Evidence& evidence) {
  return world.secret == std::string_view(evidence.bytes.data(), evidence.size);
}

bool gotSomething(const World&, const Evidence& evidence) {
  return evidence.error == 0 && evidence.size > 0;
}

constexpr mode_t kOpened = 0604;  // no file is made with it

bool isOpened(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && (status.st_mode & 07777) == kOpened;
}

// No directory has to be opened for it.
long watchOutside(const World& world, Evidence& evidence) {
  const Fd queue(static_cast<int>(syscall(SYS_inotify_init1, IN_CLOEXEC)));
  if (!queue) return -1;
  const long watch = syscall(SYS_inotify_add_watch, queue.get(), world.outside.c_str(), IN_ALL_EVENTS);
  evidence.value = watch;
  return watch;
}

bool hasSetId(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0;
}

// The decisive call may be any of the three.
long writeTo(const std::string& path, int flags) {
  const long file = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0600);
  return file < 0 ? file : write(static_cast<int>(file), "overwritten", 11);
}

std::string settings(const World& world) {
  return world.workspace + "/.claude/settings.json";
}

// Of an agent, too, and not there.
std::string absent(const World& world) {
  return world.workspace + "/.mcp.json";
}

constexpr Act kActs[] = {
    {"read-state", "read the broker's state",
     [](const World& world, Evidence& evidence) { return readFile(world.state.c_str(), evidence); },
     gotSecret},
    {"write-state", "write into the broker's state",
     [](const World& world, Evidence&) { return writeTo(world.state, 0); },
     [](const World& world, const Evidence&) { return contentOf(world.state) != world.secret; }},
    {"read-private", "read another file of this user",
     [](const World& world, Evidence& evidence) { return readFile(world.privateFile.c_str(), evidence); },
     gotSecret},
    {"write-private", "write into another file of this user",
     [](const World& world, Evidence&) { return writeTo(world.privateFile, 0); },
     [](const World& world, const Evidence&) { return contentOf(world.privateFile) != world.secret; }},
    {"append-private", "append to another file of this user",
     [](const World& world, Evidence&) { return writeTo(world.privateFile, O_APPEND); },
     [](const World& world, const Evidence&) { return contentOf(world.privateFile) != world.secret; }},
    {"truncate-private", "truncate another file of this user",
     [](const World& world, Evidence&) -> long { return truncate(world.privateFile.c_str(), 0); },
     [](const World& world, const Evidence&) { return contentOf(world.privateFile) != world.secret; }},
    {"list-outside", "list a directory of this user",
     [](const World& world, Evidence& evidence) -> long {
       const long directory = open(world.outside.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
       if (directory < 0) return directory;
       char entries[2048];
       const long size = syscall(SYS_getdents64, directory, entries, sizeof entries);
       evidence.size = size > 0 ? 1 : 0;
       return size;
     },
     gotSomething},
    {"create-outside", "make a file that is not there yet",
     [](const World& world, Evidence&) { return writeTo(world.outside + "/created", O_CREAT | O_EXCL); },
     [](const World& world, const Evidence&) { return exists(world.outside + "/created"); }},
    {"make-directory-outside", "make a directory",
     [](const World& world, Evidence&) -> long {
       return mkdir((world.outside + "/new-directory").c_str(), 0700);
     },
     [](const World& world, const Evidence&) { return exists(world.outside + "/new-directory"); }},
    {"remove-outside", "remove another file of this user",
     [](const World& world, Evidence&) -> long { return unlink((world.outside + "/removable").c_str()); },
     [](const World& world, const Evidence&) { return !exists(world.outside + "/removable"); }},
    {"move-in", "move another file into the workspace",
     [](const World& world, Evidence&) -> long {
       return rename((world.outside + "/movable").c_str(), (world.workspace + "/moved").c_str());
     },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/moved"); }},
    {"link-in", "link another file into the workspace",
     [](const World& world, Evidence&) -> long {
       return link(world.privateFile.c_str(), (world.workspace + "/alias").c_str());
     },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/alias"); }},
    {"read-by-symlink", "read another file over a symbolic link in the workspace",
     [](const World& world, Evidence& evidence) {
       return readFile((world.workspace + "/link").c_str(), evidence);
     },
     gotSecret},
    {"read-by-other-root", "read another file over /proc/PID/root of a process",
     [](const World& world, Evidence& evidence) {
       char path[512];
       std::snprintf(path, sizeof path, "/proc/%d/root%s", world.pids->program.load(),
                     world.privateFile.c_str());
       return readFile(path, evidence);
     },
     gotSecret},
    {"read-by-other-directory", "read another file over /proc/PID/cwd of a process",
     [](const World& world, Evidence& evidence) {
       char path[64];
       std::snprintf(path, sizeof path, "/proc/%d/cwd/private", world.pids->program.load());
       return readFile(path, evidence);
     },
     gotSecret},
    {"read-system-file", "read any file at all, /etc/passwd",
     [](const World&, Evidence& evidence) { return readFile("/etc/passwd", evidence); },
     [](const World&, const Evidence& evidence) {
       return evidence.size > 0 &&
              contentOf("/etc/passwd").starts_with(std::string_view(evidence.bytes.data(), evidence.size));
     }},
    {"read-shadow", "read /etc/shadow",
     [](const World&, Evidence& evidence) { return readFile("/etc/shadow", evidence); }, nullptr,
     Control::kEntry},
    {"open-by-handle", "name a file by a handle, without walking a path",
     [](const World& world, Evidence&) {
       alignas(8) char handle[160] = {};
       handle[0] = 127;
       int mount = 0;
       return syscall(SYS_name_to_handle_at, AT_FDCWD, world.workspace.c_str(), handle, &mount, 0);
     },
     nullptr, Control::kEntry},
    {"set-user-id", "give a file the set-user-id bit",
     [](const World& world, Evidence&) -> long { return chmod((world.workspace + "/note").c_str(), 04755); },
     [](const World& world, const Evidence&) { return hasSetId(world.workspace + "/note"); }},
    {"create-set-group-id", "make a file that has the set-group-id bit",
     [](const World& world, Evidence&) {
       return syscall(SYS_openat, AT_FDCWD, (world.workspace + "/set-id").c_str(), O_CREAT | O_WRONLY, 02755);
     },
     [](const World& world, const Evidence&) { return hasSetId(world.workspace + "/set-id"); }},
    {"change-mode", "change the mode of another file of this user",
     [](const World& world, Evidence&) -> long { return chmod(world.privateFile.c_str(), kOpened); },
     [](const World& world, const Evidence&) { return isOpened(world.privateFile); }},
    {"change-mode-at", "change it by the call that names a directory as well",
     [](const World& world, Evidence&) {
       return syscall(SYS_fchmodat, AT_FDCWD, world.privateFile.c_str(), kOpened);
     },
     [](const World& world, const Evidence&) { return isOpened(world.privateFile); }},
    {"change-flags", "change the flags of an open file",
     [](const World&, Evidence&) -> long {
       const long none = 0;
       return ioctl(kLineDescriptor, FS_IOC_SETFLAGS, &none);
     },
     nullptr, Control::kEntry},
    {"lease", "take a lease on an open file",
     [](const World&, Evidence&) -> long { return fcntl(kLineDescriptor, F_SETLEASE, F_RDLCK); }, nullptr,
     Control::kEntry},
    {"change-owner", "change the owner of another file of this user",
     [](const World& world, Evidence&) -> long {
       return chown(world.privateFile.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(-1));
     },
     nullptr, Control::kEntry},
    {"change-times", "change the times of another file of this user",
     [](const World& world, Evidence&) -> long {
       return utimensat(AT_FDCWD, world.privateFile.c_str(), nullptr, 0);
     },
     nullptr, Control::kEntry},
    {"watch-outside", "watch what happens in a directory of this user (inotify)", watchOutside,
     [](const World&, const Evidence& evidence) { return evidence.value > 0; }},
    {"write-git-config", "change .git/config",
     [](const World& world, Evidence&) { return writeTo(world.workspace + "/.git/config", O_APPEND); },
     [](const World& world, const Evidence&) {
       return contentOf(world.workspace + "/.git/config") != "[core]\n";
     }},
    {"write-git-hook", "change a hook of git",
     [](const World& world, Evidence&) {
       return writeTo(world.workspace + "/.git/hooks/pre-commit", O_APPEND);
     },
     [](const World& world, const Evidence&) {
       return contentOf(world.workspace + "/.git/hooks/pre-commit") != "#!/bin/sh\n";
     }},
    {"create-git-hook", "add a hook of git",
     [](const World& world, Evidence&) { return writeTo(world.workspace + "/.git/hooks/new", O_CREAT); },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/.git/hooks/new"); }},
    {"move-git-away", "move .git aside, to put another in its place",
     [](const World& world, Evidence&) -> long {
       return rename((world.workspace + "/.git").c_str(), (world.workspace + "/git-moved").c_str());
     },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/git-moved"); }},
    {"write-agent-settings", "change an agent's settings",
     [](const World& world, Evidence&) { return writeTo(settings(world), O_TRUNC); },
     [](const World& world, const Evidence&) { return contentOf(settings(world)) != "{}"; }},
    {"create-agent-settings", "make an agent's settings that are not there yet",
     [](const World& world, Evidence&) { return writeTo(absent(world), O_CREAT | O_EXCL); },
     [](const World& world, const Evidence&) { return exists(absent(world)); }},
    {"move-to-agent-settings", "give a file of the workspace the name of an agent's settings",
     [](const World& world, Evidence&) -> long {
       return rename((world.workspace + "/movable").c_str(), absent(world).c_str());
     },
     [](const World& world, const Evidence&) { return exists(absent(world)); }},
    {"link-to-agent-settings", "give a file of the workspace that name as a second one",
     [](const World& world, Evidence&) -> long {
       return link((world.workspace + "/note").c_str(), absent(world).c_str());
     },
     [](const World& world, const Evidence&) { return exists(absent(world)); }},
    {"point-agent-settings", "make a symbolic link of that name",
     [](const World& world, Evidence&) -> long { return symlink("note", absent(world).c_str()); },
     [](const World& world, const Evidence&) { return exists(absent(world)); }},
    {"make-agent-directory", "make an agent's directory that is not there yet",
     [](const World& world, Evidence&) -> long { return mkdir((world.workspace + "/.codex").c_str(), 0700); },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/.codex"); }},
    {"create-git-commondir", "make a file of git's that says where its configuration lies",
     [](const World& world, Evidence&) { return writeTo(world.workspace + "/.git/commondir", O_CREAT); },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/.git/commondir"); }},
    {"create-root-head", "make what would have git take the workspace itself for a repository",
     [](const World& world, Evidence&) { return writeTo(world.workspace + "/HEAD", O_CREAT | O_EXCL); },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/HEAD"); }},
    {"create-submodule-hooks", "make a hooks directory for a submodule called as a part of a repository",
     [](const World& world, Evidence&) -> long {
       return mkdir((world.workspace + "/.git/modules/deep/logs/hooks").c_str(), 0700);
     },
     [](const World& world, const Evidence&) {
       return exists(world.workspace + "/.git/modules/deep/logs/hooks");
     }},
    {"link-git-config", "give .git/config a second name, to write to it by that",
     [](const World& world, Evidence&) -> long {
       return link((world.workspace + "/.git/config").c_str(), (world.workspace + "/alias").c_str());
     },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/alias"); }},
    {"run-from-shared-memory", "start a program that lies where data may be written alone",
     [](const World& world, Evidence&) { return runCopy(world, "/dev/shm/factionos-probe"); },
     [](const World& world, const Evidence&) { return exists(world.workspace + "/marker"); },
     Control::kNamespaces},
    // What must work.
    {"write-workspace", "write a file of the workspace",
     [](const World& world, Evidence&) { return writeTo(world.workspace + "/own", O_CREAT); },
     [](const World& world, const Evidence&) {
       return contentOf(world.workspace + "/own") == "overwritten";
     }},
    {"write-home", "write a file of the state",
     [](const World&, Evidence&) -> long {
       const long file = openat(kHomeDescriptor, "state/own", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
       return file < 0 ? file : write(static_cast<int>(file), "own", 3);
     },
     [](const World& world, const Evidence&) { return contentOf(world.home + "/state/own") == "own"; }},
    {"read-proc", "read its own entry of /proc",
     [](const World&, Evidence& evidence) { return readFile("/proc/self/stat", evidence); }, gotSomething},
};

}  // namespace

std::span<const Act> fileActs() {
  return kActs;
}

}  // namespace factionos::sandbox::verify
