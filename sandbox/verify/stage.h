// Where an act is tried: a process of its own, as far inside of a profile as is wanted.
#pragma once

#include <compare>
#include <string>

#include "sandbox/verify/act.h"
#include "sandbox/verify/desk.h"
#include "sandbox/verify/shelf.h"
#include "sandbox/verify/subject.h"
#include "sandbox/verify/world.h"

namespace factionos::sandbox::verify {

struct Setting {
  enum class Depth {
    kOpen,        // nothing is entered
    kNamespaces,  // the profile's namespaces and mounts alone
    kAlone,       // one layer
    kWhole,
  };
  Depth depth = Depth::kOpen;
  Layer layer = Layer::kSeccomp;  // with kAlone; with kWhole kSupervisor, or else none in particular
  // With kAlone: whether the means to end a tree are there as well, which a keeper without a pid namespace
  // has of the same layer. They hold back more than what is left behind, so only that is judged under them.
  bool endsTree = false;
  friend auto operator<=>(const Setting&, const Setting&) = default;
};

// How a try ended.
struct Seen {
  enum class Ending { kReturned, kSignal, kTrapped, kTimedOut, kNotEntered, kEnded };
  Ending ending = Ending::kReturned;
  bool happened = false;
  int error = 0;  // errno of the act, or of the step that failed
  int signal = 0;
  std::string detail;  // the trapped call, or the step that failed

  [[nodiscard]] bool killedByFilter() const;
  [[nodiscard]] bool byFilter() const;     // SIGSYS, reported or not, or the sentinel
  [[nodiscard]] std::string text() const;  // "EACCES", "SIGSYS (openat)", …
};

// Whether a process in which an act came to pass can be asked for another: what a profile allows leaves it
// what it was, what has got through may have changed it.
enum class Allowed { kNo, kYes };

class Stage {
 public:
  // Forks. `world`, `subject` and `shelf` outlive it.
  Stage(World& world, const Subject& subject, Setting setting, Shelf& shelf);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  Seen attempt(const Act& act, Allowed allowed);
  [[nodiscard]] bool usable() const { return usable_; }

 private:
  void waitUntilEntered(Control control);
  Seen look(const Act& act, Allowed allowed, Seen seen);
  Seen howItEnded() const;
  void end();

  World& world_;
  Setting setting_;
  Desk* desk_ = nullptr;
  pid_t warden_ = -1;
  pid_t actor_ = -1;  // as this process knows it
  Fd line_;
  Fd events_;
  bool usable_ = true;
};

// Runs in the forked process, and never returns (actor.cpp).
struct Part {
  World& world;
  const Subject& subject;
  Setting setting;
  Shelf& shelf;
  Desk& desk;
  int line;
  int events;
};
[[noreturn]] void playWarden(Part& part) noexcept;

}  // namespace factionos::sandbox::verify
