// Carries out, in the caller's stead, the calls that make, move or remove names, or open files for writing: a
// mount guards those alone that nobody outside has replaced. Each is resolved to a directory that is held
// open and one name in it, judged by those, and done on those: nothing that the caller, its threads or its
// links change meanwhile can lead it elsewhere. One after the other, so that none of the session's own
// changes comes between.
#pragma once

#include <string>

#include "sandbox/notify.h"
#include "workers/session/caller.h"
#include "workers/session/denial_table.h"
#include "workers/session/guarded_names.h"
#include "workers/session/location.h"
#include "workers/session/standing.h"

namespace factionos::session {

// Hears of what was tried and did not work, for whoever wants to say why. It decides nothing.
class Failures {
 public:
  virtual ~Failures() = default;
  virtual void failed(DeniedOperation operation, const Location& location, int error) = 0;
};

// As the caller asks.
struct Opening {
  int flags = 0;
  mode_t mode = 0;
};

class FileCalls {
 public:
  struct Setting {
    const sandbox::NotifyListener& listener;
    const GuardedNames& names;
    const Standing& standing;
    DenialTable& denials;
    Failures& failures;
    std::string terminal;  // of the session
    pid_t leader = 0;      // of the session of processes that it is the terminal of
    mode_t mask = 0;       // that the command began with
    int line = -1;         // to the keeper, who takes its end for this process's: closed in each that waits
  };
  explicit FileCalls(Setting setting) : setting_(std::move(setting)), masks_(setting_.mask) {}

  // False: the call is none of these, and not answered.
  bool handle(const sandbox::Notification& call);

 private:
  void open(const Caller& caller, int directory, unsigned path, Opening opening);
  void openHere(const Caller& caller, Walk& walk, Location& location, Opening opening);
  void openTerminal(const Caller& caller, const Opening& opening);
  void openLater(const Caller& caller, Location& location, const Opening& opening) const;
  bool mayOpen(const Caller& caller, const Location& location, Opening& opening);
  enum class Giver : std::uint8_t { kGofer, kWaiting };
  void give(const Caller& caller, sandbox::Fd file, const Opening& opening, Giver giver) const;

  void makeDirectory(const Caller& caller, int directory, unsigned path, mode_t mode);
  void makeNode(const Caller& caller, int directory, unsigned path, mode_t mode, dev_t device);
  void makeLink(const Caller& caller, unsigned text, int directory, unsigned path);
  void makeAlias(const Caller& caller, int from, unsigned fromPath, int to, unsigned toPath, int flags);
  void move(const Caller& caller, int from, unsigned fromPath, int to, unsigned toPath, unsigned flags);
  void remove(const Caller& caller, int directory, unsigned path, int flags);
  void truncate(const Caller& caller);
  void truncateLater(const Caller& caller, const std::string& path, off_t size) const;
  // As fork(2): a process that waits for one caller, answers it and ends. It inherits the listener, not the
  // line.
  [[nodiscard]] pid_t forkWaiting() const;
  static constexpr long kFirstWait = 1'000'000;  // ns
  // At most that long, and less if `reader` has something to be read or has lost its last writer: true. The
  // next wait is twice as long, up to a bound.
  static bool waitAWhile(long& wait, int reader = -1);
  static int waitForWriter(const Caller& caller, int reader);
  void bind(const Caller& caller);

  int resolve(const Caller& caller, int directory, unsigned path, Location& location);
  [[nodiscard]] std::optional<Refusal> judge(const Location& location, Change change) const;
  [[nodiscard]] std::optional<Refusal> judge(int file, Change change) const;
  // What a rename of this name is where it arrives.
  [[nodiscard]] Change bringing(const Location& from) const;
  [[nodiscard]] bool mayBringLinks(const Location& from) const;
  // Answers and counts if it may not be.
  bool isRefused(const Caller& caller, const Location& location, Change change, bool exclusive);
  void refuse(const Caller& caller, const Refusal& refusal) const;
  void finish(const Caller& caller, DeniedOperation operation, const Location& location, long result);
  void takeMask(const Caller& caller);

  Setting setting_;
  Masks masks_;
  mode_t taken_ = 0777;  // this process's own at the moment; none that umask(2) gives at first
};

}  // namespace factionos::session
