#include "broker/policy/grant.h"

#include <algorithm>

#include "broker/home/label.h"
#include "broker/policy/rule.h"

namespace factionos::policy {
namespace {

Problem refused(const char* what) {
  return {ProblemCode::kInvalid, std::string("grant: ") + what,
          "a grant names one operation, workspace, principal and program exactly, and an end"};
}

bool isLabelOrEmpty(const std::string& text) {
  return text.empty() || home::isLabel(text);
}

const char* whatIsWrong(const Subject& subject) {
  const Operation* operation = findOperation(subject.family, subject.operation);
  if (operation == nullptr || operation->posture == Posture::kUnavailable)
    return "there is no such operation";
  if (operation->effect == Effect::kReadOnly) return "an operation that only reads needs none";
  if (operation->decided == Decided::kBySession) return "this operation is covered by its session's approval";
  if (!home::isLabel(subject.principal)) return "the principal is no label";
  if (!isLabelOrEmpty(subject.workspace) || !isLabelOrEmpty(subject.profile)) return "a name is no label";
  const bool isSystem = subject.program.kind == Program::Kind::kSystem;
  if (isSystem ? !isProgramPath(subject.program.path) : !subject.program.path.empty()) {
    return "the program is no absolute path";
  }
  if (subject.family != Family::kTerminal) return nullptr;
  if (subject.program.kind == Program::Kind::kNone) return "a command's grant names its program";
  const bool network = subject.network == "none" || subject.network == "loopback" ||
                       subject.network == "full" || subject.network == "egress";
  return network ? nullptr : "a command's grant names its network profile";
}

// Both ways of naming an operation are the same operation.
bool sameSubject(const Subject& granted, const Subject& asked) {
  if (granted == asked) return true;
  Subject canonical = asked;
  const Operation* operation = findOperation(asked.family, asked.operation);
  if (operation == nullptr) return false;
  canonical.operation = operation->name;
  return granted == canonical;
}

}  // namespace

Status GrantList::add(Grant grant) {
  if (const char* wrong = whatIsWrong(grant.subject)) return refused(wrong);
  if (grant.until <= grant.created) return refused("its end is not after its beginning");
  if (grant.id.empty()) return refused("it has no id");
  const auto sameId = [&grant](const Grant& other) { return other.id == grant.id; };
  if (std::any_of(grants_.begin(), grants_.end(), sameId)) {
    return Problem{ProblemCode::kExists, "grant: its id is in use", {}};
  }
  grant.subject.operation = findOperation(grant.subject.family, grant.subject.operation)->name;
  grants_.push_back(std::move(grant));
  return {};
}

bool GrantList::revoke(std::string_view id) {
  return std::erase_if(grants_, [id](const Grant& grant) { return grant.id == id; }) > 0;
}

std::vector<Grant> GrantList::removeExpired(Time now) {
  const auto firstExpired = std::stable_partition(grants_.begin(), grants_.end(),
                                                  [now](const Grant& grant) { return grant.until > now; });
  std::vector<Grant> expired(std::make_move_iterator(firstExpired), std::make_move_iterator(grants_.end()));
  grants_.erase(firstExpired, grants_.end());
  return expired;
}

const Grant* GrantList::find(const Subject& subject, Time now) const {
  const auto found = std::find_if(grants_.begin(), grants_.end(), [&](const Grant& grant) {
    return now >= grant.created && now < grant.until && sameSubject(grant.subject, subject);
  });
  return found == grants_.end() ? nullptr : &*found;
}

}  // namespace factionos::policy
