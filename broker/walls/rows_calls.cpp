#include "broker/walls/rows.h"

namespace factionos::walls {

std::vector<Row> callRows() {
  const std::vector<std::string_view> surface = {
      "io-uring", "bpf", "keyctl", "add-key", "request-key", "userfaultfd", "perf", "init-module", "kexec"};
  const std::vector<std::string_view> machine = {"reboot", "swapon", "set-clock", "kernel-log"};
  const std::vector<std::string_view> escapes = {
      "mount",          "umount", "pivot-root", "open-tree",     "new-mount",       "unshare-user",
      "unshare-mounts", "setns",  "clone-user", "clone-network", "clone-high-bits", "clone3"};
  std::vector<Row> rows = {
      {"calls.kernel", kAll,
       "reaches no wide kernel interface: io_uring, BPF, keys, perf, userfaultfd, modules, kexec",
       Layer::kSeccomp, kRequired, Feature::kNone, surface},
      {"calls.machine", kAll, "does not administer the machine", Layer::kSeccomp, kRequired, Feature::kNone,
       machine},
      {"calls.escape",
       {"broker", "front", "pty", "file", "container", "session-running", "keeper", "gofer", "gofer-plain",
        "command", "command-loopback", "command-full", "command-plain", "command-full-plain"},
       "mounts nothing and makes or enters no namespace",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       escapes},
      {"calls.terminal",
       {"launcher", "front", "pty", "file", "container", "session", "session-running", "keeper", "gofer",
        "gofer-plain", "command", "command-loopback", "command-full", "command-plain", "command-full-plain"},
       "types into no terminal, whatever the bits above the 32 that the kernel reads",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       {"terminal-type", "terminal-type-high-bits", "terminal-type-sign", "terminal-paste"}},
      {"calls.line-discipline",
       kCommands,
       "loads no driver between terminal and program",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       {"line-discipline"}},
      {"calls.meaning",
       kCommands,
       "changes nothing of what the kernel means by a call",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       {"personality"}},
      {"calls.newer",
       kCommands,
       "makes no call that nobody has judged yet",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       {"newer-call"}},
      {"calls.shared-memory",
       kPlain,
       "reaches no System V memory of others",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       {"shared-segment"}},
      {"calls.listed",
       kListed,
       "makes no call that its profile does not list",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       {"newer-call", "personality", "trace-me", "fanotify", "file-handle", "memory-file"}},
      {"calls.trap",
       {"front", "pty", "file", "container", "session-running"},
       "can't silence the report of a refused call",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       {"change-trap-handler"}},
      {"memory.executable",
       kListed,
       "executes no memory that it wrote",
       Layer::kSeccomp,
       kRequired,
       Feature::kNone,
       {"make-executable"}},
  };
#ifdef __x86_64__
  rows.push_back({"calls.foreign-x32",
                  kAll,
                  "makes no call by the x32 numbers",
                  Layer::kSeccomp,
                  kRequired,
                  Feature::kNone,
                  {"x32", "x32-execve"}});
  rows.push_back({"calls.foreign-i386",
                  kAll,
                  "makes no call by the 32-bit entry",
                  Layer::kSeccomp,
                  kOptional,
                  Feature::kForeign32,
                  {"int80"}});
#endif
  return rows;
}

}  // namespace factionos::walls
