// One container from create to removal.
#pragma once

#include <optional>
#include <string>

#include <kj/async.h>
#include <kj/refcount.h>

#include "workers/container/engine.h"
#include "workers/container/frames.h"
#include "workers/container/inspect.h"
#include "workers/container/outlet.h"
#include "workers/container/spec.h"

namespace factionos::container {

enum class End { kExited, kKilled, kTimedOut, kOutOfMemory, kNotStarted, kLost };
enum class Gone { kNotAsked, kRemoved, kLeft };

struct Outcome {
  End end = End::kNotStarted;
  int exitCode = -1;
  bool pidsReached = false;
  bool adopted = false;
  bool outputUnreadable = false;
  Gone removal = Gone::kNotAsked;
  std::int64_t startedMs = 0;
  std::int64_t endedMs = 0;
  std::uint64_t totalBytes = 0;
  std::uint64_t droppedBytes = 0;
  std::string code;    // of kNotStarted and kLost
  std::string target;  // a number, or a field of ours
};

// Everything in order, on one screen: life(). It goes on by itself, also when whoever asked has let go; then
// it ends the container.
class Run final : public kj::Refcounted {
 public:
  Run(Engine& engine, Spec spec, schema::ContainerSink::Client sink);

  void begin();
  kj::Promise<bool> started() { return started_.addBranch(); }
  kj::Promise<void> ended() { return ended_.addBranch(); }
  // Any number of times, in any state.
  void kill();

  [[nodiscard]] const Owner& owner() const { return spec_.owner; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  enum class Stage { kNone, kCreated, kRunning, kEnded };
  using Step = kj::Promise<void> (Run::*)();

  kj::Promise<void> life();
  kj::Promise<void> unlessOver(Step step);
  void fail(std::string_view code, std::string target = {});
  void failBy(const Reply& reply, std::string_view code);

  kj::Promise<void> create();
  kj::Promise<void> adopt();
  kj::Promise<void> compareAndListen();
  kj::Promise<void> compare();
  kj::Promise<void> attach();
  kj::Promise<void> listenForEnd();
  kj::Promise<void> start();
  kj::Promise<void> watch();
  kj::Promise<void> stop();
  kj::Promise<void> drain();
  kj::Promise<void> clearAndTell();
  kj::Promise<void> clear();

  kj::Promise<void> untilEnded();
  kj::Promise<void> learnEnd(unsigned tries);
  kj::Promise<void> readOutput(kj::AsyncIoStream& stream);
  kj::Promise<void> samplePids();
  void take(std::string_view bytes);
  void settle(const State& state);

  Engine& engine_;
  const Spec spec_;
  Manner manner_;
  Stage stage_ = Stage::kNone;
  std::string id_;
  unsigned nameTries_;
  bool mayExist_ = false;  // a create was sent, and what became of it is not known
  Outcome outcome_;
  std::optional<End> why_;  // it is being ended by us
  bool failed_ = false;

  Outlet outlet_;
  FrameReader frames_;
  std::array<char, 65536> buffer_{};
  kj::Maybe<kj::Own<kj::AsyncIoStream>> stream_;
  kj::Promise<void> output_;
  kj::Maybe<kj::Promise<Reply>> waiting_;

  kj::Own<kj::PromiseFulfiller<void>> kill_;
  kj::ForkedPromise<void> killed_;
  kj::Own<kj::PromiseFulfiller<bool>> start_;
  kj::ForkedPromise<bool> started_;
  kj::Own<kj::PromiseFulfiller<void>> end_;
  kj::ForkedPromise<void> ended_;
  kj::Promise<void> living_;
};

}  // namespace factionos::container
