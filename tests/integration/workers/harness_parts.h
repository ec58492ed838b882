// What the parts of the harness have of each other.
#pragma once

#include "harness.h"

namespace factionos::test {

// Before the test's own process is anything to fail, and in children: says what did not hold, and ends.
void must(bool fact, const char* what);

// In who is to become the launcher: what that kernel does not have is taken from it and all below.
void takeAway(Kernel kernel);

// The child that acts for the other user; no part of what a test starts. -1: there is none.
pid_t otherUsersHelper();

}  // namespace factionos::test
