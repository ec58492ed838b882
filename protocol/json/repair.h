// What a tolerant route forgives in JSON that is otherwise well formed.
#pragma once

#include <cstddef>

#include <kj/common.h>

namespace factionos::json {

// Rewrites, in place and without a change of length: an escape of a lone surrogate becomes \uFFFD
// (JavaScript's own JSON.stringify writes such escapes when a text was cut inside of a character), and a
// well-formed number that is too long for a 64-bit integer or a double becomes 0.0 and spaces. Anything else,
// malformed or not, stays as it is for the parser to judge. Gives the number of places that it changed.
std::size_t repairTolerated(kj::ArrayPtr<char> json);

}  // namespace factionos::json
