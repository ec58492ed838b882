#include <algorithm>
#include <array>

#include "broker/core/log.h"
#include "broker/executors/file_request.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using redaction::Literal;
using schema::ProblemCode;

struct Row {
  std::string_view code;
  ProblemCode problem;
  Literal detail;
  Literal field;
};

constexpr std::array kRows{
    Row{"path_refused", ProblemCode::INVALID_REQUEST,
        "A path is relative and plain: no empty, . or .. component.", "path"},
    Row{"path_outside", ProblemCode::SCOPE_VIOLATION,
        "A symbolic link is on the way of a change, or leads out of the workspace.", "path"},
    Row{"path_protected", ProblemCode::FORBIDDEN,
        "This path is protected: git's own files, agents' settings and kept copies are not written here.",
        "path"},
    Row{"not_found", ProblemCode::NOT_FOUND, "There is no such file.", "path"},
    Row{"not_regular", ProblemCode::INVALID_REQUEST, "This is no regular file.", "path"},
    Row{"not_directory", ProblemCode::INVALID_REQUEST, "This is no directory.", "path"},
    Row{"no_access", ProblemCode::FORBIDDEN, "The file's own mode does not let the broker's user do that.",
        "path"},
    Row{"too_large", ProblemCode::TOO_LARGE, "Above 64 MiB, or 16 MiB for an edit, a file is not changed.",
        "path"},
    Row{"changed", ProblemCode::APPROVAL_DRIFT, "The file is not what was previewed.", "path"},
    Row{"no_match", ProblemCode::INVALID_REQUEST, "The old text is not in the file.", "oldText"},
    Row{"many_matches", ProblemCode::INVALID_REQUEST,
        "The old text is in the file more than once; give more of it, or replaceAll.", "oldText"},
    Row{"unchanged", ProblemCode::INVALID_REQUEST, "This would change nothing.", "path"},
    Row{"no_space", ProblemCode::CHANGE_REFUSED, "The workspace's file system has no space left.", ""},
    Row{"io_failed", ProblemCode::CHANGE_REFUSED, "The workspace's file system failed.", ""},
    Row{"crowded", ProblemCode::RESOURCE_BUSY, "Somebody makes files of our temporary names beside this one.",
        "path"},
    Row{"not_kept", ProblemCode::NOT_FOUND, "No such copy of this path is kept.", "entry"},
    Row{"applied_before", ProblemCode::APPROVAL_USED, "This action has been applied.", ""},
};

}  // namespace

Refused fileDenied(schema::Denial::Reader denial) {
  const auto code = view(denial.getCode());
  const auto* row = std::ranges::find_if(kRows, [&](const Row& each) { return each.code == code; });
  if (row == kRows.end()) return {.code = ProblemCode::INVALID_REQUEST};
  return {.code = row->problem, .detail = row->detail, .field = row->field};
}

}  // namespace factionos::broker
