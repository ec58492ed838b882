#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "broker/audit/digest.h"
#include "broker/audit/label.h"

namespace factionos::audit {

// What a session moved and met, as counts.
struct RecordCounts {
  std::uint64_t bytesIn = 0;   // bytes typed into it
  std::uint64_t bytesOut = 0;  // bytes it printed
  std::uint64_t denials = 0;   // refused acts, by whichever wall
};

// One decision or outcome. Every text is a Label or a Code, so nothing raw can be put into it; the log adds
// the sequence number and the time.
struct Record {
  std::string actionId{};      // "act_" id, or empty for what concerns no action (a policy load, a token);
                               // checked on append
  std::uint32_t revision = 0;  // the action's, after the change
  Code family;
  Code operation;
  Label requester;
  std::optional<Label> approver{};
  Code decision;     // allow, ask, deny, approve, reject, expire, or none for an outcome
  Code idempotency;  // fresh, replayed, in_flight, none
  Code result;       // the action's state after the change
  std::optional<Label> target{};
  std::optional<Code> failure{};       // problem code of the contract
  std::uint32_t redactionVersion = 1;  // version of the rules that made the labels
  RecordCounts counts{};
  std::optional<Digest>
      requestDigest{};  // keyed: who holds the key and the request can find the record, nobody else
};

}  // namespace factionos::audit
