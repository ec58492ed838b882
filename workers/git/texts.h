// Bytes of a repository as texts of a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/schemas/git.capnp.h"

namespace factionos::git {

// What is not UTF-8 becomes U+FFFD, one for each byte; NUL too. `same`: whether nothing was replaced.
std::string utf8(std::string_view bytes, bool* same = nullptr);

// At most `most` bytes, cut at a character.
std::string utf8Cut(std::string_view bytes, std::size_t most);

// Exact in any case.
void fill(schema::GitPath::Builder path, std::string_view bytes);

}  // namespace factionos::git
