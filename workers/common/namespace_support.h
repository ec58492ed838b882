// What the launcher has learnt of the kernel's namespaces, as an argument of the session: asked once and not
// at each start.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sandbox/namespaces.h"

namespace factionos::worker {

inline constexpr std::string_view kNamespacesOption = "--namespaces";

// Errnos of user, mount, pid, network, ipc, uts, with commas between: "0,0,0,0,0,0".
std::string encode(const sandbox::NamespaceSupport& support);
std::optional<sandbox::NamespaceSupport> parseNamespaceSupport(std::string_view text);

}  // namespace factionos::worker
