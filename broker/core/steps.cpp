#include "broker/core/steps.h"

namespace factionos::broker {
namespace {

constexpr std::array<std::string_view, kStepCount> kNames{
    "raise_epoch",    "recover",       "key_look_up",  "propose",      "deny",          "decide",
    "expire",         "begin",         "reply",        "fail",         "outcome",       "reveal",
    "grant_add",      "grant_remove",  "token_create", "token_revoke", "policy_reload", "event",
    "queue",          "lived",         "read",         "reconcile",    "launch_front",  "launch_pty",
    "launch_session", "launch_scoped", "prepare",      "start",        "attach",        "input",
    "resize",         "signal",        "kill",         "exited"};
static_assert(!kNames.back().empty());

}  // namespace

std::string_view nameOf(Step step) {
  return kNames[static_cast<std::size_t>(step)];
}

}  // namespace factionos::broker
