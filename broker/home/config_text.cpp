#include "broker/home/config.h"

namespace factionos::home {

std::string_view defaultConfigText() {
  return R"(# FactionOS: configuration of this home. Read once at start. Unknown keys and values out of range stop the start, with
# the line named. What is commented out shows the default.

# "user":   one uid for you, your agents and the broker; sockets in run/ of this home.
# "system": a user of its own; sockets in /run/factionos for `group`; principals listed by uid below.
# mode = "user"
# group = "factionos"

# Loopback only: 127.0.0.1:PORT or [::1]:PORT. Port 0 lets the kernel choose.
# listen = "127.0.0.1:4519"

# Host values taken beside the loopback names, and origins of pages that may call. Exact, lower case; no patterns.
# allowed_hosts = []
# allowed_origins = []

# What the agents may work on. `factionos workspace add NAME PATH` appends one after checking it.
# [[workspace]]
# name = "demo"
# path = "/srv/demo"

# System mode only: who may speak to the sockets. Anybody else gets 403.
# [[principal]]
# name = "alice"
# uid = 1000
# scopes = ["read", "propose"]

[limits]
# max_sessions = 16                    # 1 to 256 sessions alive at once
# max_waiting_actions = 64             # 1 to 1024 actions that wait for a decision
# command_timeout_seconds = 600        # 1 to 86400, for a command that names none
# max_command_timeout_seconds = 7200   # 1 to 86400, the longest that a caller may ask for
# output_cap_bytes = 1048576           # 4096 to 67108864 bytes kept of one session's output
# approval_expiry_seconds = 900        # 1 to 86400; an unanswered proposal then expires
# idempotency_ttl_seconds = 86400      # 60 to 2592000; a key may be used again after that

[profile]
# Directories that commands may use in addition to their workspace and the system's. Resolved paths.
# program_dirs = []    # read and execute
# readable_dirs = []   # read only

# What a container may be made of. A caller names a template and a workspace and gives nothing else. Needs an engine.
# [[template]]
# id = "claude"
# image = "factionos-isolated:latest"   # a local image, as docker/build makes it; nothing is pulled
# command = ["/usr/bin/claude", "-p"]   # argv, the program's full path first; say nothing secret in it
# provider = "claude"                   # whose runtime the image must say that it has; "none"
# worktree = "read-write"               # the workspace, at /workspace: "read-write", "read-only" or "none"
# auth = "/srv/claude-auth"             # a directory, at /auth, read-only; left out: none
# browser = false                       # whether the image must say that it has a browser's dependencies
# egress = false                        # whether the network profile egress may be asked for
# memory_mib = 512                      # 16 to 65536, swap included
# cpu_percent = 100                     # 1 to 6400 percent of one processor
# processes = 256                       # 1 to 32768
# tmp_mib = 64                          # 1 to 4096, of /tmp, in memory
# timeout_seconds = 600                 # 1 to 86400, for a run that names none
# max_timeout_seconds = 7200            # 1 to 86400, the longest that a caller may ask for

[engines]
# Socket files of the container engines that agents may be run on. A rootful engine is root on this machine: prefer a rootless one.
# docker = "/run/docker.sock"
# podman = "/run/user/1000/podman/podman.sock"
# Apple's program, which has no socket. Readiness asks it for its version; nothing is run by it.
# apple = "/usr/local/bin/container"

[audit]
# A file outside this home that gets a copy of the audit's head, against rolling the home back.
# anchor = "/var/backups/factionos-audit-head"
)";
}

}  // namespace factionos::home
