#pragma once

#include <cstdint>

namespace factionos {

// AddressSanitizer keeps what was freed for a while, 256 MiB of it, and shadows of all memory.
#ifdef FACTIONOS_SANITIZED
inline constexpr long kSanitizerKeepsKiB = 512 * 1024;
#else
inline constexpr long kSanitizerKeepsKiB = 0;
#endif

}  // namespace factionos
