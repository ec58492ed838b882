#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include "broker/actions/outgoing.h"

namespace factionos::broker {

using ReplyBytes = std::vector<std::uint8_t>;

ReplyBytes flatten(capnp::MessageBuilder& message);

// Words of stored bytes, aligned. Throws kj::Exception for bytes that are no whole number of words.
kj::Array<capnp::word> unflatten(std::span<const std::uint8_t> bytes);

// The results of an Api method as they are kept for replays. `fill` gets them as what goes to the state: so
// no output, which may cross to a reader, can be in what is kept.
template <typename Results, typename Fill>
ReplyBytes encodeReply(Fill&& fill) {
  capnp::MallocMessageBuilder message;
  fill(actions::Outgoing<redaction::Boundary::kStateAtRest, Results>(message.initRoot<Results>()));
  return flatten(message);
}

enum class Replay { kFirst, kAgain };

// Answers with stored results: what may rest may be shown.
template <typename Results, typename Context>
void answerWith(Context& context, std::span<const std::uint8_t> bytes, std::uint32_t status, Replay replay) {
  const auto words = unflatten(bytes);
  capnp::FlatArrayMessageReader reader(words);
  context.setResults(reader.getRoot<Results>());
  auto meta =
      context.getResults().hasMeta() ? context.getResults().getMeta() : context.getResults().initMeta();
  meta.setStatus(static_cast<std::uint16_t>(status));
  meta.setReplayed(replay == Replay::kAgain);
}

}  // namespace factionos::broker
