#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace factionos::redaction {

// Where a value can leave the broker.
enum class Boundary : std::uint8_t {
  kApiResponse,
  kApiError,
  kWebSocketFrame,
  kCli,
  kHookOutput,
  kLog,
  kAudit,
  kStateAtRest,
  kArchiveBackup,
  kExportReplay,
  kWorkerTransfer,
  kHostedTransfer,  // always empty
};
inline constexpr std::size_t kBoundaryCount = 12;

// What must not leave it unless a cell of the matrix says so.
enum class Category : std::uint8_t {
  kUserPrompt,
  kProviderPrompt,
  kCommand,
  kTerminalInput,
  kTerminalOutput,
  kStdout,
  kStderr,
  kFileContents,
  kDiff,
  kPatch,
  kBroadPath,
  kCwd,
  kTranscriptPath,
  kToken,
  kAuthorizationValue,
  kRequestBody,
  kQueueEntry,
  kProposalRationale,
  kSpoolPayload,
  kStateFile,
  kLogText,
  kBackup,
  kArchive,
  kBrowserStorage,
  kRemoteWorkerPayload,
  kHostedAccountData,
  kEngineCommand,
  kContainerOutput,
  kEnvMap,
  kEntrypoint,
  kArgs,
  kMounts,
  kVolumes,
  kImageInspect,
  kWorkspacePath,
  kFileName,  // and a path within a workspace
};
inline constexpr std::size_t kCategoryCount = 36;

// The most that may cross. Each is made by one function of the boundary's Redactor and by nothing else.
enum class Verdict : std::uint8_t {
  kNever,          // nothing that is derived from it
  kCount,          // how many, or how many bytes
  kLabel,          // a bounded label of it
  kDigest,         // a keyed digest of it
  kMaskedBounded,  // its text, secrets masked, bounded, with the count of what was dropped
  kOperatorOnly,   // itself in visible form, to the operator over the operator's socket, from memory only
  kScoped,         // itself, to the one worker whose capability it is for
};

// Names as `factionos policy matrix` prints them: snake_case, stable.
[[nodiscard]] std::string_view nameOf(Boundary boundary) noexcept;
[[nodiscard]] std::string_view nameOf(Category category) noexcept;
[[nodiscard]] std::string_view nameOf(Verdict verdict) noexcept;

}  // namespace factionos::redaction
