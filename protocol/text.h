// Cap'n Proto's texts as the standard library's.
#pragma once

#include <string_view>

#include <capnp/blob.h>

namespace factionos {

// Borrowed, as the reader is; without the NUL that follows.
inline std::string_view view(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

}  // namespace factionos
