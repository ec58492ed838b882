#include "broker/redaction/matrix.h"

#include <algorithm>

namespace factionos::redaction {
namespace {

constexpr std::array<std::string_view, kBoundaryCount> kBoundaryNames = {
    "api_response", "api_error",     "websocket_frame", "cli",           "hook_output",     "log",
    "audit",        "state_at_rest", "archive_backup",  "export_replay", "worker_transfer", "hosted_transfer",
};

constexpr std::array<std::string_view, kCategoryCount> kCategoryNames = {
    "user_prompt",
    "provider_prompt",
    "command",
    "terminal_input",
    "terminal_output",
    "stdout",
    "stderr",
    "file_contents",
    "diff",
    "patch",
    "broad_path",
    "cwd",
    "transcript_path",
    "token",
    "authorization_value",
    "request_body",
    "queue_entry",
    "proposal_rationale",
    "spool_payload",
    "state_file",
    "log_text",
    "backup",
    "archive",
    "browser_storage",
    "remote_worker_payload",
    "hosted_account_data",
    "engine_command",
    "container_output",
    "env_map",
    "entrypoint",
    "args",
    "mounts",
    "volumes",
    "image_inspect",
    "workspace_path",
    "file_name",
};

constexpr std::array<std::string_view, 7> kVerdictNames = {
    "never", "count", "label", "digest", "masked_bounded", "operator_only", "scoped",
};

constexpr std::array<unsigned, kBoundaryCount> kVersions = {3, 1, 2, 3, 1, 1, 2, 2, 1, 2, 2, 1};

void appendPadded(std::string& out, std::string_view text, std::size_t width) {
  out.append(text).append(width > text.size() ? width - text.size() : 1, ' ');
}

std::size_t widest(std::span<const std::string_view> names) {
  std::size_t width = 0;
  for (const std::string_view name : names) width = std::max(width, name.size());
  return width;
}

void endLine(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out.push_back('\n');
}

}  // namespace

std::string_view nameOf(Boundary boundary) noexcept {
  return kBoundaryNames[static_cast<std::size_t>(boundary)];
}
std::string_view nameOf(Category category) noexcept {
  return kCategoryNames[static_cast<std::size_t>(category)];
}
std::string_view nameOf(Verdict verdict) noexcept {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}
unsigned versionOf(Boundary boundary) noexcept {
  return kVersions[static_cast<std::size_t>(boundary)];
}
std::span<const MatrixRow> matrixRows() noexcept {
  return kMatrix;
}

std::string renderMatrix() {
  const std::size_t first = widest(kCategoryNames) + 2;
  const std::size_t column = std::max(widest(kBoundaryNames), widest(kVerdictNames)) + 2;
  std::string out = "policy " + std::string(kPolicyVersion) + "\n";
  appendPadded(out, "category", first);
  for (const std::string_view name : kBoundaryNames) appendPadded(out, name, column);
  endLine(out);
  for (const MatrixRow& row : kMatrix) {
    appendPadded(out, nameOf(row.category), first);
    for (const Verdict verdict : row.verdicts) {
      appendPadded(out, verdict == Verdict::kNever ? "-" : nameOf(verdict), column);
    }
    endLine(out);
  }
  return out;
}

std::string renderMatrixJson() {
  // Every name is a plain word: nothing needs an escape.
  const auto quoted = [](std::string_view text) { return '"' + std::string(text) + '"'; };
  std::string out = "{\"policy\":" + quoted(kPolicyVersion) + ",\"matrix\":{";
  for (const MatrixRow& row : kMatrix) {
    out += (out.back() == '{' ? "" : ",") + quoted(nameOf(row.category)) + ":{";
    for (std::size_t i = 0; i < kBoundaryCount; ++i)
      out += (i == 0 ? "" : ",") + quoted(kBoundaryNames[i]) + ':' + quoted(nameOf(row.verdicts[i]));
    out += '}';
  }
  return out + "}}\n";
}

}  // namespace factionos::redaction
