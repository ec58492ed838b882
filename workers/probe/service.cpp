#include "workers/probe/service.h"

#include <kj/debug.h>

#include "workers/probe/answer.h"
#include "workers/probe/asking.h"

namespace factionos::probe {
namespace {

constexpr std::uint32_t kShortestMs = 10;
constexpr std::uint32_t kLongestMs = 10'000;

schema::ProbeState stateOf(const Heard& heard) {
  using State = schema::ProbeState;
  switch (heard.end) {
    case Heard::End::kExited:
      return heard.status == 0 ? State::NOT_UNDERSTOOD : State::FAILED;
    case Heard::End::kSignalled:
      return State::FAILED;
    case Heard::End::kTooMuch:
      return State::NOT_UNDERSTOOD;
    case Heard::End::kLate:
      return State::TIMED_OUT;
    case Heard::End::kNotStarted:
      return State::NOT_STARTED;
  }
  return State::FAILED;
}

void fill(schema::ProbeAnswer::Builder answer, const Heard& heard) {
  answer.setState(stateOf(heard));
  if (heard.end != Heard::End::kExited || heard.status != 0) return;
  const auto versions = readVersions(heard.printed);
  if (!versions) return;
  answer.setState(schema::ProbeState::ANSWERED);
  answer.setVersion(versions->program.c_str());
  answer.setServiceAnswers(versions->serviceAnswers);
}

class Service final : public schema::RuntimeProbe::Server {
 public:
  Service(rpc::Loop& loop, std::optional<sandbox::ProvenScope> scope)
      : asking_(loop, scope), before_(kj::Promise<void>(kj::READY_NOW).fork()) {}

  kj::Promise<void> ask(AskContext context) override {
    const std::uint32_t ms = context.getParams().getDeadlineMs();
    KJ_REQUIRE(ms >= kShortestMs && ms <= kLongestMs, "a deadline out of its range");
    auto answered =
        before_.addBranch()
            .then([this, ms]() { return asking_.ask(ms * kj::MILLISECONDS); })
            .then([context](const Heard& heard) mutable { fill(context.getResults().initAnswer(), heard); })
            .fork();
    before_ = answered.addBranch().catch_([](kj::Exception&&) {}).fork();
    return answered.addBranch();
  }

 private:
  Asking asking_;
  kj::ForkedPromise<void> before_;  // the call before this one
};

}  // namespace

schema::RuntimeProbe::Client makeService(rpc::Loop& loop, std::optional<sandbox::ProvenScope> scope) {
  return kj::heap<Service>(loop, scope);
}

}  // namespace factionos::probe
