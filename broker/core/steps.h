#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace factionos::broker {

// Everything that the broker does which outlives it or that another process sees: each durable change, by
// what it records, and each call that starts, feeds or ends something. A process may be killed before and
// after each of them; the crash matrix walks this list.
enum class Step {
  // Durable changes. commit() wants one, so that none is made without a name.
  kRaiseEpoch,
  kRecover,
  kKeyLookUp,
  kPropose,
  kDeny,
  kDecide,
  kExpire,
  kBegin,    // intent: from here on the effect may have happened
  kReply,    // the first answer, kept for repeats
  kFail,     // the action ended before its command was attached
  kOutcome,  // the action ended
  kReveal,
  kGrantAdd,
  kGrantRemove,
  kTokenCreate,
  kTokenRevoke,
  kPolicyReload,
  kEvent,
  kQueue,  // an order to the task queue, or to a run
  kLived,
  kRead,       // content was handed out, or refused
  kReconcile,  // the world told how an action ended whose outcome a crash hid
  // Calls.
  kLaunchFront,
  kLaunchPty,
  kLaunchSession,
  kLaunchScoped,  // a worker of one workspace
  kPrepare,
  kStart,   // the effect
  kAttach,  // the terminal goes to its pty worker
  kInput,
  kResize,
  kSignal,
  kKill,
  kExited,  // the supervisor tells that the tree has ended
};
inline constexpr std::size_t kStepCount = static_cast<std::size_t>(Step::kExited) + 1;

enum class Edge { kBefore, kAfter };

std::string_view nameOf(Step step);

// Tests derive from it; in production no object exists and pointers to it are null. Called on the loop's
// thread; `reach` may stop or end the process, and does not throw.
class StepPoints {
 public:
  virtual ~StepPoints() = default;
  virtual void reach(Step step, Edge edge) = 0;
};

inline void reach(StepPoints* points, Step step, Edge edge) {
  if (points != nullptr) points->reach(step, edge);
}

}  // namespace factionos::broker
