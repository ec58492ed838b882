#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "broker/home/agent_template.h"
#include "broker/home/home.h"
#include "broker/home/mode.h"
#include "broker/home/result.h"
#include "broker/identity/scope.h"

namespace factionos::home {

struct ListenAddress {
  std::string host = "127.0.0.1";  // "127.0.0.1" or "::1", nothing else
  std::uint16_t port = 4519;       // 0: the kernel chooses (tests)
};

// "127.0.0.1:4519" or "[::1]:4519". Names, other literals and other addresses are refused.
Result<ListenAddress> parseListenAddress(std::string_view text);

struct WorkspaceEntry {
  std::string name;        // a label, unique
  std::string path;        // absolute, lexically normal, no trailing slash
  std::uint32_t line = 0;  // in config.toml
};

struct PrincipalEntry {
  std::string name;  // a label, unique
  uid_t uid = 0;     // unique
  identity::ScopeSet scopes;
  std::uint32_t line = 0;
};

// Defaults and ranges are FactionOS's own choices; each is stated beside its field in the shipped
// config.toml.
struct Limits {
  std::uint32_t maxSessions = 16;                // 1..256 alive at once
  std::uint32_t maxWaitingActions = 64;          // 1..1024 in state `proposed`
  std::chrono::seconds commandTimeout{600};      // 1 s..24 h, when the caller names none
  std::chrono::seconds maxCommandTimeout{7200};  // 1 s..24 h, what a caller may ask for at most
  std::uint64_t outputCapBytes = 1024 * 1024;    // 4 KiB..64 MiB kept of one session
  std::chrono::seconds approvalExpiry{900};      // 1 s..24 h
  std::chrono::seconds idempotencyTtl{std::chrono::hours(24)};  // 60 s..30 d
};

struct ProfileExtras {
  std::vector<std::string> programDirs;   // read and execute, in addition to the system directories
  std::vector<std::string> readableDirs;  // read only
};

// Absolute paths; empty: that engine is not used.
struct EngineSockets {
  std::string docker;  // of socket files
  std::string podman;
  std::string apple;  // of Apple's program `container`, which has no socket; at most 4095 bytes
};

struct Config {
  Mode mode = Mode::kUser;
  std::string group = "factionos";  // of the sockets, in system mode
  ListenAddress listen;
  std::vector<std::string> allowedHosts;    // Host values beside the loopback names, exact, lower case
  std::vector<std::string> allowedOrigins;  // "scheme://host[:port]", exact
  std::vector<WorkspaceEntry> workspaces;
  std::vector<PrincipalEntry> principals;  // system mode only
  Limits limits;
  ProfileExtras profile;
  EngineSockets engines;
  std::vector<AgentTemplate> templates;
  std::string auditAnchor;  // absolute path of a file outside the home; empty: none

  const WorkspaceEntry* findWorkspace(std::string_view name) const;
  const AgentTemplate* findTemplate(std::string_view id) const;
};

inline constexpr const char* kConfigFile = "config.toml";
inline constexpr std::size_t kMaxConfigBytes = 256 * 1024;

// Errors read "config.toml:LINE:COLUMN: FIELD: …" and echo no value. Unknown keys, wrong types, duplicates
// and values out of range are errors; nothing is guessed or clamped.
Result<Config> parseConfig(std::string_view text);
Result<Config> loadConfig(const Home& home);

// The commented text that `init` writes.
std::string_view defaultConfigText();

// Appends a [[workspace]] table to config.toml, keeping every byte that is there; atomic and durable. The
// whole result is parsed before it replaces the file. `path` must have passed WorkspaceGuard::check. kExists
// for a name in use.
Status addWorkspace(const Home& home, std::string_view name, std::string_view path);

}  // namespace factionos::home
