// The limits of the schema hold for whoever sends the struct.
#include "protocol/json/check.h"

#include <string>

#include <gtest/gtest.h>

#include <capnp/message.h>

#include "protocol/schemas/api.capnp.h"

namespace factionos::json {
namespace {

template <typename Struct, typename Fill>
std::string refusedField(Fill fill) {
  Shapes shapes;
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Struct>());
  const auto builder = message.getRoot<Struct>();
  const auto* field = outOfLimits(shapes.of(capnp::Schema::from<Struct>()), builder.asReader());
  return field == nullptr ? std::string() : std::string(field->name);
}

const std::string kId = "act_01234567890123456789012345";

TEST(CheckLimits, RangesHoldAndADefaultStandsForAbsence) {
  const auto limit = [](std::uint16_t value) {
    return refusedField<schema::ActionList>(
        [value](schema::ActionList::Builder list) { list.setLimit(value); });
  };
  EXPECT_EQ(limit(100), "");  // the default
  EXPECT_EQ(limit(500), "");
  EXPECT_EQ(limit(0), "limit");
  EXPECT_EQ(limit(501), "limit");
  const auto after = [](std::int64_t value) {
    return refusedField<schema::SessionGet>([value](schema::SessionGet::Builder get) {
      get.setId(kId.c_str());
      get.setAfter(value);
    });
  };
  EXPECT_EQ(after(-1), "");  // the default lies outside of the range
  EXPECT_EQ(after(0), "");
  EXPECT_EQ(after(-2), "after");
}

TEST(CheckLimits, WhatIsRequiredHasToBeThere) {
  EXPECT_EQ(refusedField<schema::ById>([](auto) {}), "id");
  EXPECT_EQ(refusedField<schema::SessionResize>([](schema::SessionResize::Builder resize) {
              resize.setId(kId.c_str());
              resize.setRows(10);
            }),
            "cols");
}

TEST(CheckLimits, TextIsUtf8OfItsLengthWithoutNul) {
  const auto shell = [](const std::string& text) {
    return refusedField<schema::TerminalRun>([&text](schema::TerminalRun::Builder run) {
      run.setWorkspace("demo");
      auto place = run.initShell(static_cast<unsigned>(text.size()));
      std::copy(text.begin(), text.end(), place.begin());
    });
  };
  EXPECT_EQ(shell("echo \xc3\xa9"), "");
  EXPECT_EQ(shell("\xff"), "shell");
  EXPECT_EQ(shell(std::string("a\0b", 3)), "shell");
  EXPECT_EQ(shell(""), "shell");
  EXPECT_EQ(shell(std::string(131'073, 'a')), "shell");
}

TEST(CheckLimits, ListsAndWhatTheyHoldAreBounded) {
  const auto command = [](unsigned items, const std::string& text) {
    return refusedField<schema::TerminalRun>([&](schema::TerminalRun::Builder run) {
      run.setWorkspace("demo");
      auto list = run.initCommand(items);
      for (unsigned each = 0; each < items; ++each) list.set(each, text.c_str());
    });
  };
  EXPECT_EQ(command(1024, "x"), "");
  EXPECT_EQ(command(1025, "x"), "command");
  EXPECT_EQ(command(1, "\xfe"), "command");
}

TEST(CheckLimits, EnumsAreKnownAndStructsAreLookedInto) {
  EXPECT_EQ(refusedField<schema::ActionList>([](schema::ActionList::Builder list) {
              list.setState(static_cast<schema::ActionState>(500));
            }),
            "state");
  EXPECT_EQ(refusedField<schema::SessionRestart>([](schema::SessionRestart::Builder restart) {
              restart.setId(kId.c_str());
              restart.initApproval().setActionId("short");
            }),
            "approval");
}

}  // namespace
}  // namespace factionos::json
