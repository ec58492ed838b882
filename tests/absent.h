// Tests that need what a machine may not have.
#pragma once

#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

namespace factionos::test {

// FACTIONOS_REQUIRE_ALL=1: this machine must have everything, so that no skip passes for a success.
inline bool mustHaveAll() {
  const char* const value = std::getenv("FACTIONOS_REQUIRE_ALL");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace factionos::test

// Stops the test as skipped, with the reason on the screen; fails instead where everything must be there.
// For use as: if (missing) { ABSENT("..."); }
#define ABSENT(reason)                                                             \
  do {                                                                             \
    if (::factionos::test::mustHaveAll()) FAIL() << "required here: " << (reason); \
    GTEST_SKIP() << (reason);                                                      \
  } while (false)
