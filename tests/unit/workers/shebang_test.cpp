#include "workers/session/shebang.h"

#include <gtest/gtest.h>

namespace factionos::session {
namespace {

std::string interpreter(std::string_view head) {
  const FirstLine line = parseShebang(head);
  const Shebang* shebang = std::get_if<Shebang>(&line);
  return shebang != nullptr ? shebang->interpreter + "|" + shebang->argument : "none";
}

TEST(Shebang, IsReadAsTheKernelReadsIt) {
  EXPECT_EQ(interpreter("#!/bin/sh\n"), "/bin/sh|");
  EXPECT_EQ(interpreter("#!/bin/sh"), "/bin/sh|");
  EXPECT_EQ(interpreter("#! \t/bin/sh  -e  -u \t\nexit"), "/bin/sh|-e  -u");
  EXPECT_EQ(interpreter("#!/usr/bin/env python3\n"), "/usr/bin/env|python3");
  EXPECT_EQ(interpreter("#!/bin/sh\r\n"), "/bin/sh\r|");
}

TEST(Shebang, WhatIsNone) {
  EXPECT_TRUE(std::holds_alternative<NotAScript>(parseShebang("")));
  EXPECT_TRUE(std::holds_alternative<NotAScript>(parseShebang("#")));
  EXPECT_TRUE(std::holds_alternative<NotAScript>(parseShebang("\177ELF")));
  EXPECT_TRUE(std::holds_alternative<NotAScript>(parseShebang(" #!/bin/sh\n")));
}

TEST(Shebang, WhatIsMalformed) {
  EXPECT_TRUE(std::holds_alternative<BadShebang>(parseShebang("#!\n/bin/sh\n")));
  EXPECT_TRUE(std::holds_alternative<BadShebang>(parseShebang("#!  \t \n")));
  EXPECT_TRUE(std::holds_alternative<BadShebang>(parseShebang(std::string_view("#!/bin/s\0h\n", 11))));
}

TEST(Shebang, ANameThatTheWindowCutsIsMalformedAndAnArgumentIsCut) {
  EXPECT_TRUE(std::holds_alternative<BadShebang>(parseShebang("#!/" + std::string(400, 'x') + "\n")));
  EXPECT_EQ(interpreter("#!/bin/sh " + std::string(400, 'x') + "\n").size(), kShebangBytes - 2);
}

}  // namespace
}  // namespace factionos::session
