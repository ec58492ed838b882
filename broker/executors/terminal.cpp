#include "broker/executors/terminal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "broker/actions/view.h"
#include "broker/core/log.h"
#include "broker/executors/run_command.h"
#include "broker/state/session_table.h"

namespace factionos::broker {
namespace {

using audit::Code;
using schema::ProblemCode;

kj::Promise<ActionReply> refuse(Refused refused) {
  return ActionReply(std::move(refused));
}

}  // namespace

TerminalExecutor::TerminalExecutor(Core& core, ActionBook& actions, ActionRunner& runner,
                                   SessionBook& sessions, Workers& workers, const MaskRules& masks)
    : core_(core),
      actions_(actions),
      runner_(runner),
      sessions_(sessions),
      workers_(workers),
      masks_(masks),
      tasks_(*this) {}

TerminalExecutor::~TerminalExecutor() noexcept(false) = default;

kj::Promise<Outcome<Preview>> TerminalExecutor::preview(const Caller& caller,
                                                        schema::TerminalRun::Reader request) {
  return runner_.preview(caller, kj::heap<RunCommand>(*this, "run", Preparation::copyOf(request)), "preview");
}

kj::Promise<ActionReply> TerminalExecutor::run(const Caller& caller, capnp::Text::Reader key,
                                               schema::TerminalRun::Reader request) {
  auto approval = request.hasApproval() ? Approved::from(request.getApproval()) : std::nullopt;
  return runner_.carryOut(caller, key.cStr(), std::move(approval),
                          kj::heap<RunCommand>(*this, "run", Preparation::copyOf(request)));
}

kj::Promise<ActionReply> TerminalExecutor::restart(const Caller& caller, capnp::Text::Reader key,
                                                   schema::SessionRestart::Reader request) {
  auto* session = sessions_.find(std::string_view(request.getId().begin(), request.getId().size()));
  if (session == nullptr) return refuse({.code = ProblemCode::NOT_FOUND, .field = "id"});
  if (session->facts().owner.text() != caller.id())
    return refuse({.code = ProblemCode::FORBIDDEN, .detail = "Only the session's owner may restart it."});
  auto effect = kj::heap<RunCommand>(*this, "restart", Preparation::copyOf(session->request()));
  effect->replaces(session->facts().id.text());
  auto approval = request.hasApproval() ? Approved::from(request.getApproval()) : std::nullopt;
  return runner_.carryOut(caller, key.cStr(), std::move(approval), kj::mv(effect));
}

void TerminalExecutor::started(kj::Own<LiveSession> session) {
  auto& live = *session;
  sessions_.add(kj::mv(session));
  sessions_.trim();
  core_.changes.touch();  // a command that prints nothing changes nothing else
  tasks_.add(watch(kj::addRef(live)));
}

kj::Promise<void> TerminalExecutor::watch(kj::Own<LiveSession> session) {
  auto& live = *session;
  return live.watch()
      .then([this, &live](Ending&& ending) { return record(live, std::make_shared<Ending>(kj::mv(ending))); })
      .attach(kj::mv(session));
}

kj::Promise<void> TerminalExecutor::record(LiveSession& session, std::shared_ptr<Ending> ending) {
  const auto& facts = session.facts();
  return commit<state::ActionRow>(core_, Step::kOutcome,
                                  [ending, id = facts.id.text(), actionId = facts.actionId.text(),
                                   lines = session.lines()](state::Transaction& transaction) {
                                    state::SessionTable table(transaction.database());
                                    if (auto row = table.find(id)) {
                                      row->state = Code::of("ended");
                                      row->bytesIn = ending->counts.bytesIn;
                                      row->bytesOut = ending->counts.bytesOut;
                                      row->droppedBytes = ending->counts.droppedBytes;
                                      row->lines = lines;
                                      row->ended = transaction.now();
                                      table.update(*row);
                                    }
                                    return actions::apply(transaction, actionId,
                                                          {.event = ending->event,
                                                           .failure = ending->failure,
                                                           .exitCode = ending->exitCode,
                                                           .counts = ending->counts,
                                                           .note = actions::KeyNote::kDone});
                                  })
      .then([this, &session, ending](Outcome<state::ActionRow>&& outcome) -> kj::Promise<void> {
        if (const auto* refused = refusedIn(outcome)) {
          log(Level::kError, "outcome_not_recorded", {{"session", session.facts().id}});
          if (refused->retryAfterMs != 0)
            return core_.timer.afterDelay(kRecordRetry).then([this, &session, ending]() {
              return record(session, ending);
            });
        }
        session.close(*ending);
        sessions_.trim();
        if (const auto* row = std::get_if<state::ActionRow>(&outcome)) actions_.changed(*row);
        return kj::READY_NOW;
      });
}

kj::Promise<void> TerminalExecutor::shutdown() {
  auto kills = kj::Vector<kj::Promise<void>>();
  for (auto& [id, session] : sessions_.all()) {
    if (!session->ended()) kills.add(session->kill("shutdown"));
  }
  return kj::joinPromises(kills.releaseAsArray()).then([this]() { return tasks_.onEmpty(); });
}

void TerminalExecutor::taskFailed(kj::Exception&&) {
  log(Level::kError, "session_watch_failed");
}

}  // namespace factionos::broker
