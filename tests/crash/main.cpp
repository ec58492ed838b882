#include <gtest/gtest.h>

#include "live_broker.h"
#include "tests/crash/inspector.h"

int main(int argc, char** argv) {
  factionos::test::Inspector::startIfRoot();
  factionos::test::becomeOrdinaryUser();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
