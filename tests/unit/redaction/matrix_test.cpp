#include "broker/redaction/matrix.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "broker/redaction/redactor.h"
#include "tests/unit/redaction/masking.h"

namespace factionos::redaction::testing {
namespace {

// What a boundary's redactor offers for a category, asked of the compiler.
template <Category C, Boundary B>
constexpr bool kOffers(Verdict verdict) {
  using R = Redactor<B>;
  switch (verdict) {
    case Verdict::kNever:
      return false;
    case Verdict::kCount:
      return requires {
        R::template countOf<C>(1);
      };
    case Verdict::kLabel:
      return requires(Label label) {
        R::template labelOf<C>(label);
      };
    case Verdict::kDigest:
      return requires(KeyedDigest digest) {
        R::template digestOf<C>(digest);
      };
    case Verdict::kMaskedBounded:
      return requires(OutputWindow::Text text, MaskedText whole) {
        R::template masked<C>(text);
        R::template masked<C>(whole);
      };
    case Verdict::kOperatorOnly:
      return requires {
        R::template forOperator<C>("", 1);
        R::template plainForOperator<C>("");
      };
    case Verdict::kScoped:
      return requires {
        R::template scoped<C>("");
      };
  }
  return false;
}

constexpr Verdict kVerdicts[] = {Verdict::kCount,         Verdict::kLabel,        Verdict::kDigest,
                                 Verdict::kMaskedBounded, Verdict::kOperatorOnly, Verdict::kScoped};

template <Boundary B>
constexpr bool kOpen = requires {
  Redactor<B>::count(1);
};

template <std::size_t Row, std::size_t Column>
void walkCell() {
  constexpr auto kCategory = static_cast<Category>(Row);
  constexpr auto kBoundary = static_cast<Boundary>(Column);
  for (const Verdict verdict : kVerdicts) {
    EXPECT_EQ((kOffers<kCategory, kBoundary>(verdict)), verdict == verdictOf(kCategory, kBoundary))
        << nameOf(kCategory) << " at " << nameOf(kBoundary) << ": " << nameOf(verdict);
  }
}

template <std::size_t Row, std::size_t... Columns>
void walkRow(std::index_sequence<Columns...>) {
  (walkCell<Row, Columns>(), ...);
}

template <std::size_t... Rows>
void walk(std::index_sequence<Rows...>) {
  (walkRow<Rows>(std::make_index_sequence<kBoundaryCount>()), ...);
}

TEST(RedactionMatrix, EveryCellIsWhatTheRedactorOffersAndNoMore) {
  walk(std::make_index_sequence<kCategoryCount>());
}

// The rules of the specification, said again without the table.
TEST(RedactionMatrix, NothingCrossesToTheHostedBoundary) {
  for (const MatrixRow& row : matrixRows()) {
    EXPECT_EQ(row.verdicts[static_cast<std::size_t>(Boundary::kHostedTransfer)], Verdict::kNever);
  }
  EXPECT_FALSE(kOpen<Boundary::kHostedTransfer>);
  EXPECT_TRUE(kOpen<Boundary::kLog>);
}

TEST(RedactionMatrix, LogsErrorsHooksAndArchivesHoldNothingOfAnyCategory) {
  for (const Boundary boundary :
       {Boundary::kLog, Boundary::kApiError, Boundary::kHookOutput, Boundary::kArchiveBackup}) {
    for (const MatrixRow& row : matrixRows()) {
      EXPECT_EQ(verdictOf(row.category, boundary), Verdict::kNever)
          << nameOf(row.category) << nameOf(boundary);
    }
  }
}

TEST(RedactionMatrix, NothingRawAtRest) {
  const std::set<Verdict> derived = {Verdict::kNever, Verdict::kCount, Verdict::kLabel, Verdict::kDigest};
  for (const Boundary boundary : {Boundary::kAudit, Boundary::kStateAtRest, Boundary::kArchiveBackup,
                                  Boundary::kExportReplay, Boundary::kLog, Boundary::kWebSocketFrame}) {
    for (const MatrixRow& row : matrixRows()) {
      EXPECT_TRUE(derived.contains(verdictOf(row.category, boundary)))
          << nameOf(row.category) << nameOf(boundary);
    }
  }
}

TEST(RedactionMatrix, OnlyTheCliShowsTheOperatorAndOnlyWorkersGetTheBytes) {
  for (const MatrixRow& row : matrixRows()) {
    for (std::size_t b = 0; b < kBoundaryCount; ++b) {
      const auto boundary = static_cast<Boundary>(b);
      EXPECT_TRUE(row.verdicts[b] != Verdict::kOperatorOnly || boundary == Boundary::kCli);
      EXPECT_TRUE(row.verdicts[b] != Verdict::kScoped || boundary == Boundary::kWorkerTransfer);
    }
  }
}

TEST(RedactionMatrix, PromptsAuthorizationAndTranscriptsNeverCross) {
  for (const Category category :
       {Category::kUserPrompt, Category::kProviderPrompt, Category::kAuthorizationValue,
        Category::kTranscriptPath, Category::kSpoolPayload, Category::kStateFile, Category::kImageInspect,
        Category::kEngineCommand, Category::kHostedAccountData}) {
    for (std::size_t b = 0; b < kBoundaryCount; ++b) {
      EXPECT_EQ(verdictOf(category, static_cast<Boundary>(b)), Verdict::kNever) << nameOf(category);
    }
  }
}

TEST(RedactionMatrix, ACellThatLetsSomethingThroughHasAReason) {
  for (const MatrixRow& row : matrixRows()) {
    const bool open = row.verdicts != decltype(row.verdicts){};
    EXPECT_EQ(open, !row.reason.empty()) << nameOf(row.category);
  }
}

TEST(RedactionMatrix, NamesAreStableWordsAndUnique) {
  std::set<std::string_view> names;
  const auto check = [&names](std::string_view name) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << name;
  };
  for (std::size_t i = 0; i < kCategoryCount; ++i) check(nameOf(static_cast<Category>(i)));
  for (std::size_t i = 0; i < kBoundaryCount; ++i) check(nameOf(static_cast<Boundary>(i)));
  for (std::size_t i = 0; i < kBoundaryCount; ++i) EXPECT_GE(versionOf(static_cast<Boundary>(i)), 1U);
}

TEST(RedactionMatrix, TheTextShowsEveryRow) {
  const std::string text = renderMatrix();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), kCategoryCount + 2);
  EXPECT_NE(text.find(kPolicyVersion), std::string::npos);
  for (const MatrixRow& row : matrixRows()) {
    EXPECT_NE(text.find("\n" + std::string(nameOf(row.category)) + " "), std::string::npos);
  }
}

TEST(Redactor, RendersEachKind) {
  using Api = Redactor<Boundary::kApiResponse>;
  EXPECT_EQ(Api::label(*Label::parse("main")).text(), "main");
  EXPECT_EQ(Api::count(42).text(), "42");
  EXPECT_EQ(Api::code(Code::of("timed_out")).text(), "timed_out");
  EXPECT_EQ(Api::words("fixed").text(), "fixed");
  EXPECT_EQ(Api::words(Sentence("in line ", 7, " of it")).text(), "in line 7 of it");
  EXPECT_EQ(Api::words(Sentence("from ", 1, " to ", 2, ".")).text(), "from 1 to 2.");
  EXPECT_EQ(Api::bytes(PublicBytes::hex(std::array<std::uint8_t, 2>{0xab, 0x01})).text(), "ab01");
  EXPECT_EQ(Api::bytes(PublicBytes::base64Url(std::array<std::uint8_t, 2>{0xfb, 0xff})).text(), "-_8");
  EXPECT_EQ(Api::time(std::chrono::system_clock::time_point(1700000000123ms)).text(),
            "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(Api::time(std::chrono::system_clock::time_point(-1ms)).text(), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(Api::labelOf<Category::kQueueEntry>(*Label::parse("t1")).text(), "t1");
  std::array<std::uint8_t, 32> bytes{0xab, 0x01};
  EXPECT_EQ(Redactor<Boundary::kAudit>::digestOf<Category::kCommand>(KeyedDigest(bytes)).text(),
            "ab01" + std::string(60, '0'));
  EXPECT_EQ(Redactor<Boundary::kCli>::forOperator<Category::kCommand>("a\x1b", 10).text(),
            "[2 bytes] a\\x1b");
  EXPECT_EQ(Redactor<Boundary::kCli>::plainForOperator<Category::kToken>("fos_x\x1b\n").text(), "fos_x??");
}

TEST(Redactor, SessionOutputReachesTheApiMasked) {
  OutputWindow window;
  Masker masker(patterns(), secretsOf({"tok-AAAABBBBCCCC"}));
  const std::string raw = "x tok-AAAABBBBCCCC\r\n";
  masker.feed(std::as_bytes(std::span(raw)), {}, window);
  const auto value = Redactor<Boundary::kApiResponse>::masked<Category::kTerminalOutput>(window.read(0, 100));
  EXPECT_EQ(value.text(), "x [masked:secret]\n");
}

}  // namespace
}  // namespace factionos::redaction::testing
