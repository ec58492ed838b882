#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "broker/redaction/boundary.h"

namespace factionos::redaction {

// Raised with every change of a cell or of what a verdict lets through; recorded with every audit record.
inline constexpr std::string_view kPolicyVersion = "redaction/2";

struct MatrixRow {
  Category category;
  std::array<Verdict, kBoundaryCount> verdicts;  // in the order of Boundary
  std::string_view reason;                       // for the cells that are not kNever; empty if there are none
};

namespace detail {

// One character a boundary, so that a reader sees the whole table at once.
consteval MatrixRow row(Category category, std::string_view cells, std::string_view reason = {}) {
  MatrixRow result{category, {}, reason};
  std::size_t at = 0;
  for (const char cell : cells) {
    if (cell == ' ') continue;
    Verdict& verdict = result.verdicts.at(at++);
    switch (cell) {
      case '.':
        verdict = Verdict::kNever;
        break;
      case 'n':
        verdict = Verdict::kCount;
        break;
      case 'l':
        verdict = Verdict::kLabel;
        break;
      case 'd':
        verdict = Verdict::kDigest;
        break;
      case 'm':
        verdict = Verdict::kMaskedBounded;
        break;
      case 'o':
        verdict = Verdict::kOperatorOnly;
        break;
      case 's':
        verdict = Verdict::kScoped;
        break;
      default:
        throw "unknown verdict";
    }
  }
  if (at != kBoundaryCount) throw "a row has one cell a boundary";
  return result;
}

}  // namespace detail

// clang-format off
inline constexpr std::array<MatrixRow, kCategoryCount> kMatrix = {
    //                                        response    cli         audit       export
    //                                          error       hook        state       worker
    //                                            websocket   log         archive     hosted
    detail::row(Category::kUserPrompt,         ". . . . . . . . . . . ."),
    detail::row(Category::kProviderPrompt,     ". . . . . . . . . . . ."),
    detail::row(Category::kCommand,            ". . . o . . d d . . s .", "revealed to the operator who judges it; digest ties approval and run; its session runs it"),
    detail::row(Category::kTerminalInput,      ". . . . . . n . . . s .", "audited as byte counts; its pty worker types it"),
    detail::row(Category::kTerminalOutput,     "m . n m . . n n . n . .", "one place, the selected session's detail; `run` streams the same"),
    detail::row(Category::kStdout,             ". . . . . . . . . . . ."),
    detail::row(Category::kStderr,             ". . . . . . . . . . . ."),
    detail::row(Category::kFileContents,       "m . . m . . d d . . s .", "the answer to a bounded read; digests for recovery; the file worker writes it"),
    detail::row(Category::kDiff,               "m . . m . . . . . . . .", "the answer to a diff"),
    detail::row(Category::kPatch,              ". . . . . . . . . . . ."),
    detail::row(Category::kBroadPath,          ". . . o . . . . . . . .", "the operator's own configuration, in `doctor` and `workspace`"),
    detail::row(Category::kCwd,                ". . . . . . . . . . s .", "its session enters it"),
    detail::row(Category::kTranscriptPath,     ". . . . . . . . . . . ."),
    detail::row(Category::kToken,              ". . . o . . . d . . . .", "shown once to the operator who creates it; kept as a digest"),
    detail::row(Category::kAuthorizationValue, ". . . . . . . . . . . ."),
    detail::row(Category::kRequestBody,        ". . . . . . d d . . . .", "idempotency compares digests"),
    detail::row(Category::kQueueEntry,         "l . l l . . l l . l . .", "tasks are listed by label"),
    detail::row(Category::kProposalRationale,  ". . . . . . . . . . . ."),
    detail::row(Category::kSpoolPayload,       ". . . . . . . . . . . ."),
    detail::row(Category::kStateFile,          ". . . . . . . . . . . ."),
    detail::row(Category::kLogText,            ". . . . . . . . . . . ."),
    detail::row(Category::kBackup,             ". . . . . . . . . . . ."),
    detail::row(Category::kArchive,            ". . . . . . . . . . . ."),
    detail::row(Category::kBrowserStorage,     ". . . . . . . . . . . ."),
    detail::row(Category::kRemoteWorkerPayload,". . . . . . . . . . . ."),
    detail::row(Category::kHostedAccountData,  ". . . . . . . . . . . ."),
    detail::row(Category::kEngineCommand,      ". . . . . . . . . . . ."),
    detail::row(Category::kContainerOutput,    "m . n m . . n n . n . .", "one place, the selected run's detail; counts elsewhere"),
    detail::row(Category::kEnvMap,             ". . . . . . . . . . s .", "the environment of its own session or container"),
    detail::row(Category::kEntrypoint,         ". . . . . . . . . . s .", "from the operator's template to the container worker"),
    detail::row(Category::kArgs,               ". . . . . . . . . . s .", "from the operator's template to the container worker"),
    detail::row(Category::kMounts,             ". . . . . . . . . . s .", "the one workspace mount, to the container worker"),
    detail::row(Category::kVolumes,            ". . . . . . . . . . . ."),
    detail::row(Category::kImageInspect,       ". . . . . . . . . . . ."),
    detail::row(Category::kWorkspacePath,      ". . . o . . . . . . s .", "the operator's own configuration; the worker of that workspace"),
    detail::row(Category::kFileName,           "m . l m . . l l . l s .", "a listing shows names; a card and its record the last one as a label; its worker opens it"),
};
// clang-format on

[[nodiscard]] constexpr Verdict verdictOf(Category category, Boundary boundary) noexcept {
  return kMatrix[static_cast<std::size_t>(category)].verdicts[static_cast<std::size_t>(boundary)];
}

namespace detail {
consteval bool rowsAreInOrder() {
  for (std::size_t i = 0; i < kMatrix.size(); ++i) {
    if (static_cast<std::size_t>(kMatrix[i].category) != i) return false;
  }
  return true;
}
consteval bool hostedIsEmpty() {
  for (const MatrixRow& row : kMatrix) {
    if (row.verdicts.back() != Verdict::kNever) return false;
  }
  return true;
}
static_assert(rowsAreInOrder());
static_assert(hostedIsEmpty());
}  // namespace detail

// The rules of one boundary have their own version, raised with any change of its column.
[[nodiscard]] unsigned versionOf(Boundary boundary) noexcept;

// The matrix as rows, as a text of one line a category for people, and as one JSON object:
// {"policy": …, "matrix": {category: {boundary: verdict}}}.
[[nodiscard]] std::span<const MatrixRow> matrixRows() noexcept;
[[nodiscard]] std::string renderMatrix();
[[nodiscard]] std::string renderMatrixJson();

}  // namespace factionos::redaction
