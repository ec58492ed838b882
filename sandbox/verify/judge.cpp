#include "sandbox/verify/judge.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <span>
#include <vector>

namespace factionos::sandbox::verify {
namespace {

using Ending = Seen::Ending;

// How each layer but the filter says no. 0: without an error and without effect, as a datagram that nobody
// gets.
std::span<const int> answersOf(Layer layer) {
  static constexpr std::array kLandlock = {EACCES, EPERM, EXDEV};
  static constexpr std::array kSupervisor = {EACCES};
  static constexpr std::array kNamespaces = {0,     ENOENT, ESRCH, ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL,
                                             EROFS, EBUSY,  EXDEV, EPERM};
  static constexpr std::array kLimits = {EMFILE, EAGAIN, EFBIG, ENOMEM};
  static constexpr std::array kDescriptors = {EBADF};
  static constexpr std::array kObserved = {0};
  switch (layer) {
    case Layer::kLandlock:
      return kLandlock;
    case Layer::kSupervisor:
      return kSupervisor;
    case Layer::kNamespaces:
      return kNamespaces;
    case Layer::kLimits:
      return kLimits;
    case Layer::kDescriptors:
      return kDescriptors;
    default:
      return kObserved;
  }
}

template <typename Values, typename Value>
bool has(const Values& values, const Value& value) {
  return std::ranges::find(values, value) != std::ranges::end(values);
}

bool refusedBy(Layer layer, const Act& act, const Seen& seen) {
  if (layer == Layer::kSeccomp) return seen.byFilter();
  if (act.act == nullptr) return true;  // it was not asked for an answer: what others see is all
  // Its tree was ended: that is the answer.
  if (act.look == Look::kAfterEnd) return seen.ending == Ending::kReturned;
  if (layer == Layer::kLimits && seen.ending == Ending::kSignal) return seen.signal == SIGXFSZ;
  return seen.ending == Ending::kReturned && has(answersOf(layer), seen.error);
}

// A filter around this process, as a container has one, answers before the kernel does, and for all below it.
bool refusedAround(const Seen& control, Around around) {
  return around == Around::kFiltered && control.ending == Ending::kReturned && !control.byFilter() &&
         (control.error == EPERM || control.error == ENOSYS || control.error == EACCES);
}

bool never(const Seen& seen) {
  return seen.ending == Ending::kTimedOut || seen.ending == Ending::kNotEntered;
}

}  // namespace

Judgement decide(Layer layer, const Act& act, const Seen& control, const Seen& alone, const Seen& whole,
                 Around around) {
  const std::string name(act.name);
  if (whole.ending == Ending::kNotEntered || alone.ending == Ending::kNotEntered)
    return {Verdict::kNotEnforced,
            "the profile can't be entered: " + (whole.ending == Ending::kNotEntered ? whole : alone).text()};
  if (whole.happened && whole.ending != Ending::kTimedOut)
    return {Verdict::kNotEnforced, name + " came to pass in the whole profile"};
  if (never(whole) || never(alone) || never(control))
    return {Verdict::kInconclusive, name + " gave no answer"};
  if (act.control == Control::kEntry) {
    if (control.byFilter() || control.ending != Ending::kReturned)
      return {Verdict::kInconclusive,
              name + " does not come to the kernel without the sandbox either: " + control.text()};
  } else if (!control.happened) {
    const bool byOthers = refusedAround(control, around);
    // Only the profile's own filter answers like this: the call came as far as that.
    if (byOthers && layer == Layer::kSeccomp && alone.byFilter()) return {Verdict::kEnforced, {}};
    return {Verdict::kInconclusive,
            name + " does not work without the sandbox either: " + control.text() +
                (byOthers ? ", of the filter around this process" : ""),
            byOthers};
  }
  if (alone.happened)
    return {Verdict::kNotEnforced, name + " came to pass with " + std::string(label(layer)) + " alone"};
  if (!refusedBy(layer, act, alone))
    return {Verdict::kNotEnforced,
            name + " was not refused by " + std::string(label(layer)) + ": " + alone.text()};
  return {Verdict::kEnforced, {}};
}

void conclude(Finding& finding, const Act& allowed, const Seen& seen) {
  std::vector<std::string> answers;
  const bool anyProven = std::ranges::count(finding.probes, Verdict::kEnforced, &Probe::verdict) > 0;
  finding.verdict = Verdict::kEnforced;
  for (const Probe& probe : finding.probes) {
    // What nobody here can do is told, and proves nothing; the others have to.
    if (probe.refusedAround && anyProven) {
      answers.push_back(std::string(probe.act->name) + " refused around us too");
      continue;
    }
    const std::string answer = probe.act->act == nullptr ? std::string("not seen") : probe.whole.text();
    if (!has(answers, answer)) answers.push_back(answer);
    const bool worse = probe.verdict == Verdict::kNotEnforced && finding.verdict != Verdict::kNotEnforced;
    if (!worse && !(probe.verdict == Verdict::kInconclusive && finding.verdict == Verdict::kEnforced))
      continue;
    finding.verdict = probe.verdict;
    finding.cause = probe.cause;
  }
  for (const std::string& answer : answers) finding.seen += (finding.seen.empty() ? "" : ", ") + answer;
  // A process that can do nothing at all proves nothing.
  if (finding.verdict != Verdict::kEnforced || seen.happened) return;
  finding.verdict = Verdict::kInconclusive;
  finding.cause = std::string(allowed.name) + ", which is allowed, did not work either: " + seen.text();
}

}  // namespace factionos::sandbox::verify
