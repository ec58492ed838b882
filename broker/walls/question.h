// From what an operator asks ("may a command read that?") to what sandbox/explain answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/walls/profiles.h"
#include "sandbox/explain/explain.h"

namespace factionos::walls {

// What a session would know before it starts the command.
struct World {
  std::string workspace;     // real
  int workspaceHandle = -1;  // O_PATH, borrowed; -1: nothing is protected, and nothing a file worker's
  std::string scratch;       // the directory that holds the sessions' own, where there is no mount namespace
  std::vector<std::string> programPaths;
  std::vector<std::string> readPaths;
  std::uint16_t apiPort = 0;
  sandbox::NamespaceSupport support;
  int landlockAbi = 0;
  int home = -1;  // O_PATH, borrowed: of the broker's profile
};

// The directories and the terminal that a session makes are not there yet; they stand in by their names,
// which are `target`'s too: "$TMPDIR/x", "$HOME/x", "$TTY".
struct Question {
  sandbox::explain::Scene scene;
  session::CommandScope command;
};

// Throws SetupError where more is protected than can be mounted.
Question ask(const Profile& profile, const World& world);

// Absolute; a relative one is meant from the workspace. Nothing if it is empty or holds a NUL.
std::optional<std::string> fileTarget(std::string_view text, const session::CommandScope& command);

// "tcp:PORT", "tcp:ADDRESS:PORT", "udp:…" (addresses as numbers, IPv6 in brackets), "unix:PATH",
// "unix:@NAME".
std::optional<sandbox::explain::Peer> peerTarget(std::string_view text, const session::CommandScope& command);

}  // namespace factionos::walls
