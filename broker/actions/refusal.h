#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/schemas/common.capnp.h"

namespace factionos::actions {

// Why a request was not carried out, as the caller will read it: a problem's members. Every text is a fixed
// sentence or a field name of ours.
struct Refused {
  schema::ProblemCode code = schema::ProblemCode::UNSPECIFIED;
  std::string detail;      // a fixed sentence, numbers of ours at most
  std::string_view field;  // a name of ours, static storage
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

void fill(const Refused& refused, schema::Problem::Builder problem);

// What a commit's error means for the caller: a Refusal's own content, audit_unavailable, state_unavailable.
Refused refusedBy(std::exception_ptr error);

}  // namespace factionos::actions
