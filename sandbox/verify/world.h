// What probes are tried on: files, sockets and processes of this very user, made for the purpose and removed
// with it. Nothing of them is guarded by file modes or by another uid: what refuses is the sandbox.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "sandbox/descriptors.h"
#include "sandbox/namespaces.h"
#include "sandbox/verify/desk.h"

namespace factionos::sandbox::verify {

// A process that is there to be attacked. Ends by itself when its owner does.
class Victim {
 public:
  enum class Domain { kNone, kOwn };  // a Landlock domain of its own, as another session's command has

  Victim() = default;
  // `secret` lies in its memory at secretAddress(); `descriptor` is open in it.
  static Victim forked(const std::string& secret, int descriptor, Domain domain);
  // A program that was executed with `secret` in its environment, in `directory`.
  static Victim executed(const std::string& secret, const std::string& directory);
  Victim(Victim&& other) noexcept;
  Victim& operator=(Victim&& other) noexcept;
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  ~Victim();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool alive() const;

 private:
  pid_t pid_ = -1;
  Fd line_;  // its life
};

struct Listener {
  Fd socket;
  std::uint16_t port = 0;  // of an internet socket
  // Whether somebody connected, or a datagram came, since the last look.
  [[nodiscard]] bool heard() const;
};

// In memory that every process of a run sees: victims are replaced while others live on, and a stale number
// would be refused by nobody.
struct VictimPids {
  std::atomic<pid_t> outsider{-1};
  std::atomic<pid_t> sibling{-1};
  std::atomic<pid_t> program{-1};
};

// One for each run. Paths lie in a directory that only this user may enter.
class World {
 public:
  // Throws std::system_error. A helper process removes the directory when this process ends, however it ends.
  explicit World(const NamespaceSupport& support);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  // As it was at the start: files, victims, and nobody who knocked.
  void reset();

  std::string base;
  std::string home;         // of a broker: "state/secret" lies in it
  std::string state;        // that file
  std::string outside;      // where this user keeps other things
  std::string privateFile;  // one of them
  std::string workspace;
  std::string scratch;                     // "tmp" and "home" lie in it
  std::string engine, manager, bus, door;  // socket files of others
  std::string abstractName;                // without its leading NUL
  std::string terminal;                    // a pseudo-terminal of our own; empty if this machine gives none

  Listener tcp, udp, api;
  Listener engineSocket, managerSocket, busSocket, doorSocket, abstractSocket;
  VictimPids* pids = nullptr;
  Victim outsider;            // stands for the broker, with no protection of its own
  Victim sibling;             // in a sandbox of its own
  Victim program;             // executed
  std::string secret;         // in the private file and the state
  std::string inMemory;       // in the victims
  std::string inEnvironment;  // "FACTIONOS_PROBE=…" of the executed one
  Fd controller;              // of the terminal
  Fd slave;
  Fd leak;  // open on the private file; must not reach the inside

  NamespaceSupport support;  // what this kernel gives

  // Of the stage that is set at the moment (stage.h).
  Desk* desk = nullptr;
  pid_t actor = -1;      // as this process knows it
  int line = -1;         // our end of the actor's line
  std::string inActor;   // at its secretAddress()
  std::string variable;  // "FACTIONOS_CANARY", whose value must not be inherited
  std::string variableValue;
  std::vector<std::string> environment;  // what the actor hands on
  [[nodiscard]] bool lineHeard() const;

 private:
  void makeFiles();
  void makeSockets();
  void makeVictims();
  void startJanitor();
  void openTerminal();

  Fd janitor_;
  pid_t janitorPid_ = -1;
};

// Where each victim keeps its secret: the same address in every process of one run.
inline constexpr std::size_t kSecretBytes = 32;
inline constexpr int kVictimDescriptor = 90;  // of the private file, open in the forked victims
char* secretAddress();
// What lies there in another process; empty if it can't be read. Over /proc, which filters around us leave
// open more often than the calls for it.
std::string memoryOf(pid_t pid);

// The whole content; empty if it can't be read.
std::string contentOf(const std::string& path);
bool exists(const std::string& path);

}  // namespace factionos::sandbox::verify
