#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace factionos::home {

// What a container of this name is made of, in the operator's words. A caller names it, a workspace and a
// network profile, and gives nothing else.
struct AgentTemplate {
  std::string id;                                   // a label, unique
  std::string image = "factionos-isolated:latest";  // a local image's name; nothing is ever pulled
  std::vector<std::string> command;                 // argv; the first is an absolute path inside of the image
  std::string provider = "none";                    // a label: whose runtime the image must say that it has

  enum class Worktree { kNone, kReadOnly, kReadWrite } worktree = Worktree::kReadWrite;
  std::string auth;          // absolute path of a directory that is mounted read-only; empty: none
  bool browser = false;      // the image must say that it has a browser's dependencies
  bool mayReachOut = false;  // the network profile `egress` may be asked for

  // Of each container. The engine enforces them.
  std::uint32_t memoryMiB = 512;          // 16..65536, swap included
  std::uint32_t cpuPercent = 100;         // 1..6400 of one processor
  std::uint32_t processes = 256;          // 1..32768
  std::uint32_t temporaryMiB = 64;        // 1..4096 of /tmp, in memory
  std::chrono::seconds timeout{600};      // 1 s..24 h, when the caller names none
  std::chrono::seconds maxTimeout{7200};  // 1 s..24 h, what a caller may ask for at most
  std::uint32_t line = 0;                 // in config.toml
};

inline constexpr std::size_t kMaxTemplates = 64;

}  // namespace factionos::home
