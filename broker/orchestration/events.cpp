#include "broker/orchestration/events.h"

#include <algorithm>
#include <array>

#include "protocol/text.h"

namespace factionos::broker {
namespace {

struct Kind {
  std::string_view name;
  std::string_view code;
};

// The documented events of Claude Code and Codex CLI, and Codex's legacy notification. Producers add events
// with every release, so any other is "unknown" and never an error.
constexpr std::array kKinds{
    Kind{"SessionStart", "session_start"},
    Kind{"Setup", "setup"},
    Kind{"InstructionsLoaded", "instructions_loaded"},
    Kind{"UserPromptSubmit", "user_prompt_submit"},
    Kind{"UserPromptExpansion", "user_prompt_expansion"},
    Kind{"MessageDisplay", "message_display"},
    Kind{"PreToolUse", "pre_tool_use"},
    Kind{"PermissionRequest", "permission_request"},
    Kind{"PermissionDenied", "permission_denied"},
    Kind{"PostToolUse", "post_tool_use"},
    Kind{"PostToolUseFailure", "post_tool_use_failure"},
    Kind{"PostToolBatch", "post_tool_batch"},
    Kind{"Notification", "notification"},
    Kind{"SubagentStart", "subagent_start"},
    Kind{"SubagentStop", "subagent_stop"},
    Kind{"TaskCreated", "task_created"},
    Kind{"TaskCompleted", "task_completed"},
    Kind{"Stop", "stop"},
    Kind{"StopFailure", "stop_failure"},
    Kind{"TeammateIdle", "teammate_idle"},
    Kind{"ConfigChange", "config_change"},
    Kind{"CwdChanged", "cwd_changed"},
    Kind{"DirectoryAdded", "directory_added"},
    Kind{"FileChanged", "file_changed"},
    Kind{"WorktreeCreate", "worktree_create"},
    Kind{"WorktreeRemove", "worktree_remove"},
    Kind{"PreCompact", "pre_compact"},
    Kind{"PostCompact", "post_compact"},
    Kind{"SessionEnd", "session_end"},
    Kind{"Elicitation", "elicitation"},
    Kind{"ElicitationResult", "elicitation_result"},
    Kind{"Interrupt", "interrupt"},
    Kind{"agent-turn-complete", "agent_turn_complete"},
};

// Counting ten thousand rows for each event would cost more than the event, and the more go at once the fewer
// pages each of them dirties.
constexpr std::uint64_t kTrimEvery = 1024;

std::uint32_t membersOf(schema::HookEvent::Reader event) {
  return static_cast<std::uint32_t>(event.hasSource()) + event.hasEvent() + event.hasHookEventName() +
         event.hasSessionId() + event.hasToolName() + event.hasToolUseId() + event.hasTurnId() +
         event.hasAgentId() + event.hasType();
}

// A producer may name itself; a name that is no short plain word is not kept.
audit::Label sourceOf(schema::HookEvent::Reader event) {
  constexpr std::array<std::string_view, 3> kSources{"claude-code", "codex", "factionos"};
  const auto named = view(event.getSource());
  if (std::ranges::find(kSources, named) != kSources.end()) return audit::Label::of(named);
  return audit::Label::of(event.hasHookEventName() ? "hook" : "other");
}

}  // namespace

std::string_view kindOf(schema::HookEvent::Reader event) {
  const auto body = event.hasPayload() ? event.getPayload() : event;
  for (const auto name : {view(event.getHookEventName()), view(event.getEvent()),
                          view(body.getHookEventName()), view(event.getType())}) {
    const auto* kind = std::ranges::find_if(kKinds, [&](const Kind& each) { return each.name == name; });
    if (kind != kKinds.end()) return kind->code;
  }
  return "unknown";
}

kj::Promise<Outcome<EventReceipt>> Events::take(schema::HookEvent::Reader event) {
  const auto content = event.getContentDigest();
  state::EventRow row{.id = core_.ids.next(state::IdKind::kEvent),
                      .source = sourceOf(event),
                      .kind = audit::Code::of(kindOf(event)),
                      .fields = membersOf(event) + (event.hasPayload() ? membersOf(event.getPayload()) : 0),
                      .time = audit::systemNow(),
                      .dedupe = core_.keys.digest(state::Purpose::kEvent, {content.begin(), content.size()})};
  return commit<EventReceipt>(core_, Step::kEvent,
                              [row, trim = taken_++ % kTrimEvery == 0](state::Transaction& transaction) {
                                state::EventTable table(transaction.database());
                                if (table.insert(row)) {
                                  if (trim) table.trim();
                                  return EventReceipt{row.id, true};
                                }
                                const auto kept = table.findByContent(row.dedupe);
                                return EventReceipt{kept ? kept->id : row.id, false};
                              })
      .then([this](Outcome<EventReceipt>&& outcome) {
        if (const auto* receipt = std::get_if<EventReceipt>(&outcome);
            receipt != nullptr && receipt->accepted) {
          ++count_;
          core_.changes.touch();
        }
        return kj::mv(outcome);
      });
}

}  // namespace factionos::broker
