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
  lexer.finish(block);
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

TEST(EscapeLexer, CodePointsThatLeaveNoTraceArePassed) {
  EXPECT_EQ(classesOf("a\xc2\xad\xe2\x80\x8b\xef\xbb\xbf\xf3\xa0\x81\x81z"), "tppppppppppppt");
  EXPECT_EQ(classesOf("\xcd\x8f\xd8\x9c\xe1\x85\x9f\xe1\xa0\x8b\xef\xb8\x8f"), "ppppppppppppp");
  // Their neighbours are seen, and so is what is no code point.
  EXPECT_EQ(classesOf("\xc2\xac\xe2\x80\x94\xe2\x82\xac\xf0\x9f\x99\x82"), "tttttttttttt");
  EXPECT_EQ(classesOf("\xff\xe2\x80z\xc2\xf3\xa0\x81"), "tttttttt");
  EXPECT_EQ(classesOf("\x1b]0;a\xe2\x80\x8b\xc3\xa9\x07"),
            "essssppp"
            "ssx");
}

TEST(EscapeLexer, C1ControlsAreTheir7BitForms) {
  EXPECT_EQ(classesOf("a\x9b"
                      "31mb"),
            "tessst");
  EXPECT_EQ(classesOf("a\xc2\x9b"
                      "31mb"),
            "tpessst");
  for (const std::string_view start : {"\x90", "\x98", "\x9d", "\x9e", "\x9f"}) {
    EXPECT_EQ(classesOf(std::string(start) + "x\x9cz"), "esxt");
    EXPECT_EQ(classesOf("\xc2" + std::string(start) + "x\xc2\x9cz"), "pespxt");
    EXPECT_EQ(classesOf(std::string(start) + "x\nz"), "esgt") << "a line break ends a string";
  }
  EXPECT_EQ(classesOf("\x85z\xc2\x84z\x9cz"), "ptpptpt");
  EXPECT_EQ(classesOf("\x1b[3\x9b"
                      "1mz"),
            "essesst")
      << "one ends whatever is open";
  EXPECT_EQ(classesOf("\x9dx\x85z"), "espt");
  // A byte that a lead byte asks for is its continuation, even if the code point stays incomplete.
  EXPECT_EQ(classesOf("\xe2\x9b"
                      "31m"),
            "ttttt");
  EXPECT_EQ(classesOf("\xe0\x9b"
                      "31m"),
            "tesss");
}

TEST(EscapeLexer, ACutCodePointIsKeptUntilItsNextByte) {
  EscapeLexer lexer;
  LexedBlock block;
  lexer.lex("\xf3\xa0\x81", block);
  EXPECT_EQ(block.size, 0U);
  lexer.flush(block);
  EXPECT_EQ(block.size, 0U);
  lexer.lex("\x81", block);
  ASSERT_EQ(block.size, 4U);
  EXPECT_EQ(block.classes[0], ByteClass::kPass);
}

TEST(EscapeLexer, ChunkingChangesNothing) {
  const std::string raw = "ab\x1b[1;31mcd\r\n\x1b]0;title\x1b\\  ef \r" + std::string(70, 'x') +
                          " \ryy\x1bPq\ngh\x1b(" +
                          "\x9d\xe2\x80\x8b\xc2\x9c\xf0\x9f\x99\x82 \xe2\x80 \xe0\x9b" + "1m\xf3\xa0" +
                          std::string(70, 'y') + " \xc2\x9b";
  const std::string whole = classesOf(raw);
  for (std::size_t chunk = 1; chunk < raw.size(); ++chunk)
    EXPECT_EQ(classesOf(raw, 0, chunk), whole) << chunk;
}

}  // namespace
}  // namespace factionos::redaction
