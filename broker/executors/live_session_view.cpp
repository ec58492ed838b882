// What is told of a session.
#include "broker/actions/view.h"
#include "broker/executors/live_session.h"

namespace factionos::broker {

using actions::Outgoing;
using redaction::Boundary;

template <Boundary B>
void LiveSession::fillSummary(Outgoing<B, schema::TerminalSession> session) const {
  using S = schema::TerminalSession::Builder;
  using R = redaction::Redactor<B>;
  session.set(&S::setId, R::label(facts_.id));
  session.set(&S::setActionId, R::label(facts_.actionId));
  session.set(&S::setRevision, revision_);
  session.set(&S::setState, state_);
  session.set(&S::setOutcome, outcome_);
  if (failure_) session.set(&S::setFailureCode, R::code(*failure_));
  session.set(&S::setWorkspace, R::label(facts_.workspace));
  session.set(&S::setProgram, R::label(facts_.program));
  session.set(&S::setNetworkProfile, facts_.network);
  session.set(&S::setOwner, R::label(facts_.owner));
  session.set(&S::setCols, facts_.cols);
  session.set(&S::setRows, facts_.rows);
  session.set(&S::setCreatedAt, actions::millis(facts_.created));
  if (endedAt_) session.set(&S::setEndedAt, actions::millis(*endedAt_));
  session.set(&S::setTimeoutMs, facts_.timeoutMs);
  fillExit(session.init(&S::initExit));
  session.set(&S::setTotalBytes, output_.totalBytes());
  session.set(&S::setDroppedBytes, output_.droppedBytes());
  session.set(&S::setLines, output_.lines());
  session.set(&S::setInputCount, inputCount_);
  session.set(&S::setInputBytes, inputBytes_);
  auto labels = session.init(&S::initPosture, posture_.size());
  for (unsigned i = 0; i < posture_.size(); ++i) labels.set(i, R::label(posture_[i]));
}
template void LiveSession::fillSummary(Outgoing<Boundary::kApiResponse, schema::TerminalSession>) const;
template void LiveSession::fillSummary(Outgoing<Boundary::kWebSocketFrame, schema::TerminalSession>) const;
template void LiveSession::fillSummary(Outgoing<Boundary::kStateAtRest, schema::TerminalSession>) const;

template <Boundary B>
void LiveSession::fillExit(Outgoing<B, schema::Exit> exit) const {
  using E = schema::Exit::Builder;
  switch (exit_.kind) {
    case Exit::Kind::kRunning:
      return exit.set(&E::setRunning);
    case Exit::Kind::kCode:
      return exit.set(&E::setCode, exit_.number);
    case Exit::Kind::kSignal:
      return exit.set(&E::setSignal, exit_.number);
    case Exit::Kind::kLost:
      return exit.set(&E::setLost);
  }
}

void LiveSession::fillOutput(std::int64_t after,
                             Outgoing<Boundary::kApiResponse, schema::TerminalSession> session) const {
  output_.fill<redaction::Category::kTerminalOutput>(
      after, session.init(&schema::TerminalSession::Builder::initOutput));
  denials_.fill(session);
}

}  // namespace factionos::broker
