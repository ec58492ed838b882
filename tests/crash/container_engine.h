#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "tests/integration/container/fake_engine.h"

namespace factionos::test {

// An engine that outlives whoever speaks to it, as a real one does: it keeps containers, and stands still at
// one call of a test's choice, before or after it has done what was asked.
class KeepingEngine {
 public:
  enum class When { kBefore, kAfter };
  struct Place {
    std::string call;  // "POST /containers/create", or "output": the container has said something
    When when = When::kBefore;
  };

  KeepingEngine();
  [[nodiscard]] const std::string& socketPath() const { return engine_.socketPath(); }

  void stopAt(Place place);
  bool stopped();  // waits until that call is there; false: it never was, for 15 s
  // Whoever asked is gone: what stood before its deed is never done, what stood after it has nobody to
  // answer.
  void goOn();
  // Whoever asked is gone, and it is done all the same.
  void goOnWithIt();

  // Containers that carry our label and are there, in whatever state, but for the stranger's.
  std::size_t count();
  std::size_t starts();  // that there ever were
  std::size_t looks();   // how often somebody asked what is there
  bool
  strangerStands();  // another instance's, which runs from the first: it does, and nobody asked otherwise

 private:
  using Call = FakeEngine::Call;
  struct Box {
    std::string body;
    std::string state = "created";
    int exitCode = 0;
  };

  bool standsStill(const Call& call, const std::string& what, When when);
  void create(const Call& call);
  void change(const Call& call, const std::string& what);
  void attach(const Call& call);
  void wait(const Call& call);
  Box* find(const std::string& which);
  std::string stateOf(const std::string& which);
  std::string inspected(const std::string& id, const Box& box) const;
  std::string listed();

  std::mutex mutex_;
  std::condition_variable changed_;
  Place place_;
  enum class Stop { kNone, kWanted, kReached, kDone } stop_ = Stop::kNone;
  std::map<std::string, Box> boxes_;          // by id
  std::map<std::string, std::string> names_;  // ids by name
  std::size_t made_ = 0;
  std::size_t starts_ = 0;
  bool touched_ = false;
  FakeEngine engine_;  // last: its threads use the rest
};

}  // namespace factionos::test
