// For every boundary that values leave over today: what is raw does not compile, what its redactor made does.
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include <capnp/message.h>

#include "broker/actions/outgoing.h"
#include "broker/actions/refusal.h"
#include "broker/audit/record.h"
#include "broker/core/log.h"
#include "broker/core/replies.h"
#include "broker/redaction/redactor.h"
#include "broker/state/action_table.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos {
namespace {

using redaction::Boundary;
using redaction::Category;
using redaction::Redacted;
using redaction::Redactor;

// Whether a text of `Struct` at boundary B can be set from a Value.
template <Boundary B, typename Struct, typename Value>
constexpr bool kSets = requires(actions::Outgoing<B, Struct> out,
                                void (Struct::Builder::*text)(capnp::Text::Reader), Value value) {
  out.set(text, value);
};
// The same of an element of a list of texts.
template <Boundary B, typename Value>
constexpr bool kSetsInList = requires(actions::OutgoingList<B, capnp::List<capnp::Text>::Builder> list,
                                      Value value) {
  list.set(0, value);
};

template <Boundary B, typename Struct, typename... Raw>
constexpr bool kNoneOf = (!kSets<B, Struct, Raw> && ...) && (!kSetsInList<B, Raw> && ...);

template <Boundary B, typename Struct>
constexpr bool kTakesItsOwnAlone = kSets<B, Struct, Redacted<B>>&& kSetsInList<B, Redacted<B>>&&
    kNoneOf<B, Struct, std::string, std::string_view, const char*, kj::StringPtr, capnp::Text::Reader,
            redaction::Label, Redacted<Boundary::kHostedTransfer>>;

static_assert(kTakesItsOwnAlone<Boundary::kApiResponse, schema::TerminalSession>);
static_assert(kTakesItsOwnAlone<Boundary::kApiError, schema::Problem>);
static_assert(kTakesItsOwnAlone<Boundary::kWebSocketFrame, schema::Action>);
static_assert(kTakesItsOwnAlone<Boundary::kStateAtRest, schema::Action>);
static_assert(kTakesItsOwnAlone<Boundary::kCli, schema::AuditRecord>);
// What one boundary may show, another may not.
static_assert(!kSets<Boundary::kWebSocketFrame, schema::Output, Redacted<Boundary::kApiResponse>>);
static_assert(!kSets<Boundary::kStateAtRest, schema::Output, Redacted<Boundary::kApiResponse>>);

// No way around by the builder that is written to.
template <typename Out>
constexpr bool kShowsItsBuilder = requires(Out out) {
  out.builder_;
};
static_assert(!kShowsItsBuilder<actions::Outgoing<Boundary::kApiResponse, schema::Action>>);

// A problem's texts come from the source, numbers aside.
template <typename To, typename... Raw>
constexpr bool kMadeOfNone = (!std::is_constructible_v<To, Raw> && ...);
static_assert(kMadeOfNone<redaction::Sentence, std::string, std::string_view, const char*>);
static_assert(kMadeOfNone<redaction::Literal, std::string, std::string_view, const char*>);
static_assert(std::is_same_v<decltype(actions::Refused::detail), redaction::Sentence>);
static_assert(std::is_same_v<decltype(actions::Refused::field), redaction::Literal>);

// The log.
template <typename Value>
constexpr bool kLogged = std::is_constructible_v<broker::Field, redaction::Literal, Value>;
static_assert(kLogged<redaction::Label> && kLogged<redaction::Code> && kLogged<redaction::Literal> &&
              kLogged<std::uint64_t>);
static_assert(!kLogged<std::string> && !kLogged<std::string_view> && !kLogged<const char*>);
static_assert(!std::is_invocable_v<decltype(broker::log), broker::Level, std::string>);
static_assert(!std::is_invocable_v<decltype(broker::log), broker::Level, const char*>);

// The audit and the state at rest are made of labels and codes, which only their grammar makes.
template <typename Field>
constexpr bool kRefusesRaw =
    !std::is_assignable_v<Field&, std::string> && !std::is_assignable_v<Field&, const char*> &&
    !std::is_assignable_v<Field&, std::string_view>;
static_assert(kRefusesRaw<decltype(audit::Record::family)> &&
              kRefusesRaw<decltype(audit::Record::requester)> &&
              kRefusesRaw<decltype(audit::Record::target)> && kRefusesRaw<decltype(audit::Record::failure)>);
static_assert(kRefusesRaw<decltype(state::ActionRow::target)> &&
              kRefusesRaw<decltype(state::ActionRow::principal)> &&
              kRefusesRaw<decltype(state::ActionRow::workspace)> &&
              kRefusesRaw<decltype(state::ActionRow::failure)>);
static_assert(std::is_same_v<audit::Label, redaction::Label> && std::is_same_v<audit::Code, redaction::Code>);

TEST(Boundaries, AnOutgoingMessageHoldsWhatWasSet) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::TerminalSession>();
  using S = schema::TerminalSession::Builder;
  using R = Redactor<Boundary::kApiResponse>;
  actions::Outgoing<Boundary::kApiResponse, schema::TerminalSession> session(root);
  session.set(&S::setId, R::label(redaction::Label::of("ses_1")));
  session.set(&S::setCols, 80);
  session.set(&S::setState, schema::SessionState::RUNNING);
  session.init(&S::initExit).set(&schema::Exit::Builder::setLost);
  auto posture = session.init(&S::initPosture, 2);
  posture.set(1, R::words("proc_shared"));

  EXPECT_EQ(std::string(root.getId().cStr()), "ses_1");
  EXPECT_EQ(root.getCols(), 80);
  EXPECT_EQ(root.getState(), schema::SessionState::RUNNING);
  EXPECT_TRUE(root.getExit().isLost());
  EXPECT_EQ(std::string(root.getPosture()[1].cStr()), "proc_shared");
}

TEST(Boundaries, WhatIsKeptForReplaysIsOfTheStateAtRest) {
  const auto bytes = broker::encodeReply<schema::Api::TerminalRunResults>([](auto results) {
    static_assert(std::is_same_v<decltype(results),
                                 actions::Outgoing<Boundary::kStateAtRest, schema::Api::TerminalRunResults>>);
    actions::fill({.code = schema::ProblemCode::REJECTED, .detail = {"line ", 3, ""}, .field = "id"},
                  results.init(&schema::Api::TerminalRunResults::Builder::initProblem));
  });
  const auto words = broker::unflatten(bytes);
  capnp::FlatArrayMessageReader reader(words);
  const auto problem = reader.getRoot<schema::Api::TerminalRunResults>().getProblem();
  EXPECT_EQ(std::string(problem.getDetail().cStr()), "line 3");
  EXPECT_EQ(std::string(problem.getField().cStr()), "id");
}

}  // namespace
}  // namespace factionos
