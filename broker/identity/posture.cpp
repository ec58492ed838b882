#include "broker/identity/posture.h"

namespace factionos::identity {

const char* label(ApprovalSeparation separation) {
  switch (separation) {
    case ApprovalSeparation::kSeparateUid:
      return "separate_uid";
    case ApprovalSeparation::kPassphrase:
      return "passphrase";
    case ApprovalSeparation::kNone:
      return "none";
  }
  return "none";
}

ApprovalSeparation approvalSeparation(home::Mode mode, KeyState key) {
  if (mode == home::Mode::kSystem) return ApprovalSeparation::kSeparateUid;
  return key == KeyState::kSealed ? ApprovalSeparation::kPassphrase : ApprovalSeparation::kNone;
}

}  // namespace factionos::identity
