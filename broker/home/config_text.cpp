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

[audit]
# A file outside this home that gets a copy of the audit's head, against rolling the home back.
# anchor = "/var/backups/factionos-audit-head"
)";
}

}  // namespace factionos::home
