#include "protocol/interactive_programs.h"

#include <set>

#include <gtest/gtest.h>

namespace factionos {
namespace {

TEST(InteractivePrograms, AreFoundWithAnyVersionAndByNoOtherName) {
  for (const char* const name : {"python", "python3", "python3.11", "sqlite3", "vim", "bash"})
    EXPECT_NE(findInteractiveProgram(name), nullptr) << name;
  for (const char* const name : {"", "3", "pythonic", "cat", "bashful", "vimdiff"})
    EXPECT_EQ(findInteractiveProgram(name), nullptr) << name;
}

TEST(InteractivePrograms, EachHasOneRow) {
  std::set<std::string_view> names;
  for (const InteractiveProgram& program : kInteractivePrograms)
    EXPECT_TRUE(names.insert(program.name).second) << program.name;
}

TEST(InteractivePrograms, WhatTakesCommandsBesideAnOperandIsToldFromWhatRunsIt) {
  EXPECT_EQ(findInteractiveProgram("python3")->operand, Operand::kScript);
  EXPECT_EQ(findInteractiveProgram("less")->operand, Operand::kData);
  EXPECT_EQ(findInteractiveProgram("env")->operand, Operand::kContents);
}

}  // namespace
}  // namespace factionos
