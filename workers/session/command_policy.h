// The `command` profile: what a user's program may do. A pure value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/policy.h"
#include "workers/session/prepare.h"
#include "workers/session/protected_paths.h"

namespace factionos::session {

// Caps of one tree. In a user namespace of its own `processes` is the kernel's (RLIMIT_NPROC); memory, CPU
// time, and without that namespace processes, are watched by the keeper, which kills the tree at the cap.
struct TreeLimits {
  std::uint32_t processes = 1024;
  std::uint64_t memoryBytes = std::uint64_t{8} << 30;
  std::uint32_t openFiles = 4096;                     // of each process
  std::uint32_t cpuSeconds = 4 * 3600;                // of all processes together
  std::uint64_t fileBytes = std::uint64_t{16} << 30;  // of each file
};

// What differs from command to command. Paths are absolute and real.
struct CommandScope {
  std::string workspace;
  std::string temporary;                  // "/tmp" of a mount namespace, or the session's own directory
  std::string home;                       // HOME, below `temporary` or beside it
  std::string terminal;                   // "/dev/pts/3"
  std::vector<std::string> programPaths;  // of the session profile: read and execute
  std::vector<std::string> readPaths;     // of the session profile: read
  std::vector<ProtectedPath> protectedPaths;
  ProtectedLinks protectedLinks = ProtectedLinks::kNone;
  ProtectedDetail protectedDetail = ProtectedDetail::kFull;
  Network network = Network::kNone;
  std::uint16_t apiPort = 0;
  TreeLimits limits;
  std::uint32_t userTasks = 0;  // that this user runs already; where there is no user namespace
  std::vector<int> keep;        // descriptors
  sandbox::DenialLog denialLog = sandbox::DenialLog::kAsUsual;  // kPrograms: the kernel's records are read
};

// Namespaces to ask for before commandPolicy() is entered.
sandbox::Namespaces commandNamespaces(Network network, Namespaces use);

// `namespaces` is what came of it; `landlockAbi` what the kernel has.
sandbox::Policy commandPolicy(const CommandScope& scope, const sandbox::NamespacePosture& namespaces,
                              int landlockAbi);

// Labels of what this command's sandbox could not have, beside those that enterInside() tells.
std::vector<std::string_view> commandPosture(const CommandScope& scope,
                                             const sandbox::NamespacePosture& namespaces, int landlockAbi);

// Whether the gofer got the filter's listener.
enum class Supervised { kNo, kYes };

// How far protected paths are kept, and whether denials are heard of.
std::vector<std::string_view> supervisionPosture(const CommandScope& scope,
                                                 const sandbox::NamespacePosture& namespaces,
                                                 Supervised supervised);

}  // namespace factionos::session
