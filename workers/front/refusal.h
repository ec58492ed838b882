// Why a request is refused before its route matters. Pure values, so that the parsers below need neither KJ
// nor schemas.
#pragma once

#include <cstdint>

namespace factionos::front {

// Each of these ends the connection: after it the two ends may not agree on where the next request begins.
enum class Refusal : std::uint8_t {
  kNone,
  kMalformed,          // 400
  kLengthRequired,     // 411, any Transfer-Encoding
  kTargetTooLong,      // 414
  kExpectationFailed,  // 417
  kHeaderTooLarge,     // 431
  kVersionUnsupported  // 505
};

}  // namespace factionos::front
