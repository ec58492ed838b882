#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "broker/actions/outgoing.h"
#include "broker/redaction/words.h"
#include "protocol/schemas/common.capnp.h"

namespace factionos::actions {

// Why a request was not carried out, as the caller will read it: a problem's members. No text of it is known
// at run time alone, so nothing of a request can be in it.
struct Refused {
  schema::ProblemCode code = schema::ProblemCode::UNSPECIFIED;
  redaction::Sentence detail;
  redaction::Literal field;  // a name of the schema's
  std::uint64_t currentRevision = 0;
  std::uint32_t retryAfterMs = 0;
  schema::ActionState state = schema::ActionState::UNSPECIFIED;
};

// Thrown inside a mutation to undo it alone; never crosses to a peer.
class Refusal : public std::exception {
 public:
  explicit Refusal(Refused refused) : refused_(std::move(refused)) {}
  const Refused& refused() const { return refused_; }
  const char* what() const noexcept override { return "the request was refused"; }

 private:
  Refused refused_;
};

// Of boundaries that problems cross: kApiError, kCli, and kStateAtRest for what replays.
template <redaction::Boundary B>
void fill(const Refused& refused, Outgoing<B, schema::Problem> problem);

// What a commit's error means for the caller: a Refusal's own content, audit_unavailable, state_unavailable.
Refused refusedBy(std::exception_ptr error);

}  // namespace factionos::actions
