#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "protocol/rpc/connection.h"

namespace factionos::broker {

// Every line between the broker and another process, as rows: who is at the other end, who serves there, and
// what a message from there may cost. A line that is no row does not exist.
enum class Peer : std::uint8_t { kLauncher, kFront, kPty, kFile, kContainer, kGit, kProbe, kOperator };

enum class Serves : std::uint8_t {
  kBroker,  // the peer calls
  kPeer,    // the broker calls
  kBoth,    // the broker serves and was given capabilities in return
};

struct LinkRow {
  Peer peer;
  std::string_view name;
  Serves serves;
  std::string_view interface;     // the bootstrap capability of the side that serves
  std::uint32_t descriptors;      // at most, with one message
  std::uint64_t messageBytes;     // of one message, before it counts as misbehaviour
  std::uint32_t nesting;          // of one message
  std::uint64_t unansweredBytes;  // of calls that wait for us, before we stop reading
  std::uint32_t held;             // capabilities of ours, before it may not call any more
};

// messageBytes: a file worker answers with at most 1 MiB of a file at a time, a git worker with
// names of at most 3 MiB. The front hands on bodies of at
// most 8 MiB (POST /event) as typed structs, the pty worker 64 KiB of output a call, the operator and the
// launcher labels and lists of them. held: the front remembers 256 logins; what it gets from start() costs a
// descriptor, and a second one while the answer is not sent, of the 4096 that we have. The launcher gets a
// line for each worker that is starting, a pty worker its sink and its master, the operator what its login
// opens. A container worker tells of at most 1000 containers, and holds a sink for each of 64 runs and the
// sockets that it has just asked for. A probe answers with one word and one label.
inline constexpr std::array kLinks{
    LinkRow{Peer::kLauncher, "launcher", Serves::kPeer, "Launcher", 4, 1 << 20, 32, 4 << 20, 1024},
    LinkRow{Peer::kFront, "front", Serves::kBoth, "Gate", 4, 16 << 20, 64, 32 << 20, 1024},
    LinkRow{Peer::kPty, "pty", Serves::kPeer, "Pty", 1, 1 << 20, 16, 1 << 20, 16},
    LinkRow{Peer::kFile, "file", Serves::kPeer, "FileWorker", 1, 4 << 20, 16, 4 << 20, 16},
    LinkRow{Peer::kContainer, "container", Serves::kPeer, "Container", 1, 2 << 20, 16, 4 << 20, 256},
    LinkRow{Peer::kGit, "git", Serves::kPeer, "Git", 0, 8 << 20, 16, 4 << 20, 16},
    LinkRow{Peer::kProbe, "probe", Serves::kPeer, "RuntimeProbe", 0, 64 << 10, 16, 64 << 10, 16},
    LinkRow{Peer::kOperator, "operator", Serves::kBroker, "OperatorGate", 1, 1 << 20, 32, 1 << 20, 16},
};

constexpr const LinkRow& linkOf(Peer peer) {
  for (const auto& row : kLinks) {
    if (row.peer == peer) return row;
  }
  return kLinks[0];
}

rpc::ConnectionOptions optionsOf(const LinkRow& row);

}  // namespace factionos::broker
