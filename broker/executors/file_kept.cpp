// What tells a kept copy from something that somebody put in its place.
#include "broker/executors/file_executor.h"
#include "broker/state/action_table.h"
#include "protocol/text.h"

namespace factionos::broker {

bool FileExecutor::isProven(const FileSubject& subject, std::string_view path, std::string_view action,
                            schema::FileState::Reader kept) const {
  const auto row = state::ActionTable(core_.reader).find(action);
  return row && row->state == state::ActionState::kSucceeded &&
         row->family.text() == policy::label(policy::Family::kFile) && row->workspace &&
         row->workspace->text() == subject.workspace->name && !row->operandDigests.empty() &&
         row->operandDigests.front() == view_.digestOf(path, kept);
}

std::optional<Refused> FileExecutor::unproven(const FileSubject& subject,
                                              schema::FilePreview::Reader preview) const {
  if (preview.getEntry().size() == 0 ||
      isProven(subject, subject.path, ::factionos::view(preview.getEntry()), preview.getKept()))
    return std::nullopt;
  return Refused{.code = schema::ProblemCode::NOT_FOUND,
                 .detail = "What lies there is not what the broker has kept.",
                 .field = "entry"};
}

}  // namespace factionos::broker
