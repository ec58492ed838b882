#pragma once

#include <type_traits>
#include <utility>

#include "broker/actions/refusal.h"
#include "broker/api/services.h"

namespace factionos::broker {

// What the methods of Api have in common when they answer.
template <typename Context>
using ResultsOf = std::decay_t<decltype(std::declval<Context&>().getResults())>;

template <typename Context>
void refuse(Context& context, const Refused& refused) {
  actions::fill(refused, actions::reply<redaction::Boundary::kApiError>(context).init(
                             &ResultsOf<Context>::initProblem));
}

}  // namespace factionos::broker
