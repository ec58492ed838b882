#include <gtest/gtest.h>

#include "live_broker.h"

int main(int argc, char** argv) {
  factionos::test::becomeOrdinaryUser();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
