#pragma once

#include <cstdint>

#include "broker/home/mode.h"
#include "broker/identity/operator_key.h"

namespace factionos::identity {

// What stands between an agent and the operator's decision.
enum class ApprovalSeparation : std::uint8_t {
  kSeparateUid,  // system mode: the key is another uid's
  kPassphrase,   // user mode: the key file is sealed
  kNone,         // user mode: the key lies open, or there is none
};
const char* label(ApprovalSeparation separation);  // "separate_uid", "passphrase", "none"

ApprovalSeparation approvalSeparation(home::Mode mode, KeyState key);

}  // namespace factionos::identity
