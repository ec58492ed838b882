// What the launcher has learnt of the kernel's namespaces, as an argument of the session: asked once and not
// at each start.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sandbox/landlock.h"
#include "sandbox/namespaces.h"

namespace factionos::worker {

inline constexpr std::string_view kNamespacesOption = "--namespaces";

// Errnos of user, mount, pid, network, ipc, uts, with commas between: "0,0,0,0,0,0".
std::string encode(const sandbox::NamespaceSupport& support);
std::optional<sandbox::NamespaceSupport> parseNamespaceSupport(std::string_view text);

// The Landlock scopes of a process that has commands below it: both, as far as the kernel has them; none
// where commands have a mount namespace. Every layer above a mount either forbids it or refuses moving files
// between directories below it (sandbox/landlock.h, FileScope). The command enters the scopes of its own
// either way.
sandbox::Scopes scopesAboveCommands(const sandbox::NamespaceSupport& support);

}  // namespace factionos::worker
