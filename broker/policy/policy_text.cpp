#include "broker/policy/policy.h"

namespace factionos::policy {

std::string_view defaultPolicyText() {
  return R"(# FactionOS: policy of this home. Read at start and on `factionos policy reload`. The first rule that matches decides;
# when none does, the answer is deny. An unknown key or value, and an allow without an end for anything that changes
# things, keep the whole file from loading.
#
# [[rule]]
# family    = "terminal"          # file, git, terminal, container, remote, hosted or "*"
# operation = "run"               # a name of that family, "read-only", "mutating" or "*"
# workspace = "demo"              # a name from config.toml; left out: "*"
# principal = "ci"                # a token's or a listed user's name; left out: "*"
# program   = "/usr/bin/make"     # exact resolved path, "sh" (any shell line), "workspace" (a program that lies in the
#                                 # workspace) or "*"; left out: "*"
# network   = "none"              # none, loopback, full, egress or "*"; left out: "*"
# profile   = "default"           # a session's profile or a container's template; left out: "*"
# decision  = "allow"             # allow, ask or deny
# until     = 2030-01-31T18:00:00Z  # allow alone; needed for whatever changes things
# reason    = "nightly build"     # told to who asks, at most 160 bytes; say nothing secret in it
#
# A program that can run others (a shell, an interpreter, make, env, find, xargs, git) runs whatever it is told: to allow
# it is to allow everything that the sandbox lets a command do.

[[rule]]
family = "git"
operation = "push"
decision = "deny"
reason = "a push can't be rolled back; the operator has not opened it"

[[rule]]
family = "*"
operation = "read-only"
decision = "allow"
reason = "changes nothing"

[[rule]]
family = "*"
operation = "mutating"
decision = "ask"
reason = "the operator decides about every change"
)";
}

}  // namespace factionos::policy
