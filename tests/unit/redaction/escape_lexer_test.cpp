#include "broker/redaction/escape_lexer.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace factionos::redaction {
namespace {

// One letter a byte: t text, g narrow gap, G wide gap, p pass, e sequence start, s sequence,
// x its end.
std::string classesOf(std::string_view raw, unsigned columns = 0, std::size_t chunk = 1000) {
  EscapeLexer lexer;
  lexer.setColumns(columns);
  LexedBlock block;
  std::string out;
  std::string bytes;
  const auto take = [&] {
    for (std::size_t i = 0; i < block.size; ++i) {
      out += std::string_view("tgGpesx")[static_cast<std::size_t>(block.classes[i])];
      bytes += block.bytes[i];
    }
  };
  for (std::size_t at = 0; at < raw.size(); at += chunk) {
    lexer.lex(raw.substr(at, chunk), block);
    take();
  }
  lexer.flush(block);
  take();
  EXPECT_EQ(bytes, raw) << "the lexer changes no byte";
  return out;
}

TEST(EscapeLexer, ClassifiesSequences) {
  EXPECT_EQ(classesOf("a\x1b[1;31mb"), "tesssssst");
  EXPECT_EQ(classesOf("a\x1b(Bb"), "tesst");
  EXPECT_EQ(classesOf("a\x1b"
                      "7b"),
            "test");
  EXPECT_EQ(classesOf("a\x1b]0;x\x07"
                      "b"),
            "tessss"
            "xt");
  EXPECT_EQ(classesOf("a\x1bPq\x1b\\b"), "tesspxt");
  EXPECT_EQ(classesOf("\x1b]0;x\x1b[mb"), "esssspsst");
}

TEST(EscapeLexer, AbandonedSequencesGiveTheTextBack) {
  EXPECT_EQ(classesOf("\x1b[12\nab"), "esssgtt");
  EXPECT_EQ(classesOf("\x1b]x\nab"), "essgtt");
  EXPECT_EQ(classesOf("\x1b[1\x18"
                      "ab"),
            "essxtt");
  EXPECT_EQ(classesOf("\x1b\x1b[mab"), "eesstt");
  EXPECT_EQ(classesOf("\x1b[" + std::string(300, '1') + "a").substr(258, 3), "ttt");
}

TEST(EscapeLexer, LineGapsIncludeIndentation) {
  EXPECT_EQ(classesOf("a\r\n  b c"), "tggggttt");
  EXPECT_EQ(classesOf(std::string(60, 'x') + "\n b").substr(60), "GGt");
  EXPECT_EQ(classesOf(std::string(60, 'x') + "\n\n b").substr(60), "Gggt");
  EXPECT_EQ(classesOf("abcd\nb", 4), "ttttGt");
  EXPECT_EQ(classesOf("abc\nb", 4), "tttgt");
}

TEST(EscapeLexer, TheSpaceOfALineEditorsWrapIsPartOfTheGap) {
  EXPECT_EQ(classesOf("abcd \rb", 4), "ttttGGt");
  EXPECT_EQ(classesOf("abcd x", 4), "tttttt");
  EXPECT_EQ(classesOf("abcd ", 4), "ttttt");
  EXPECT_EQ(classesOf("abc \rb", 4), "ttttGt");
}

TEST(EscapeLexer, ControlsWithoutTraceArePassed) {
  EXPECT_EQ(classesOf(std::string_view("a\0\x07\x0e\x7f"
                                       "b\b\tc",
                                       9)),
            "tpppptttt");
}

TEST(EscapeLexer, ChunkingChangesNothing) {
  const std::string raw =
      "ab\x1b[1;31mcd\r\n\x1b]0;title\x1b\\  ef \r" + std::string(70, 'x') + " \ryy\x1bPq\ngh\x1b(";
  const std::string whole = classesOf(raw);
  for (std::size_t chunk = 1; chunk < raw.size(); ++chunk)
    EXPECT_EQ(classesOf(raw, 0, chunk), whole) << chunk;
}

}  // namespace
}  // namespace factionos::redaction
