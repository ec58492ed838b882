#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <kj/async.h>

#include "broker/actions/lifecycle.h"
#include "broker/core/core.h"
#include "broker/core/keyed_change.h"
#include "broker/core/replies.h"
#include "broker/policy/policy.h"
#include "broker/state/action_table.h"

namespace factionos::broker {

// Who asks, as the front's connection or the operator's socket established it.
struct Caller {
  identity::Principal principal;
  std::string id() const { return principal.id(); }
};

// What a guarded request is answered with.
struct ActionWaits {
  state::ActionRow row;
};
using ActionReply = std::variant<Refused, ActionWaits, StoredReply>;

// What a dry run found out; the action's row keeps it. Labels, counts and digests, nothing raw.
struct Prepared {
  std::optional<audit::Digest> programDigest;
  // Of everything that the preview was taken on: a script, a file's content, HEAD and the index. What is
  // approved is this state. If it is another one when the action is to run, that is approval_drift. Digests
  // of contents are keyed (Core::keys), those of programs need not be.
  std::vector<audit::Digest> basis;
  std::optional<policy::Risk> risk;         // none: as the table of operations says
  std::vector<state::ChangeCount> changes;  // what the card says will change, in numbers
  std::string revealed;  // what the operator alone may see while the action waits; memory only
};

// How an effect came out. Its members are copied to the writer's thread: they hold values, no references.
struct Done {
  enum class Life {
    kEnded,   // the action has succeeded
    kGoesOn,  // something lives on, and ends the action itself
  };
  Life life = Life::kEnded;
  std::uint32_t status = 200;
  // The answer, from the row as it is now. Kept for repeats: so nothing that may not rest.
  std::function<ReplyBytes(const state::ActionRow& action)> reply;
  state::ActionCounts counts{};
  // More that belongs to the same change of the state; may be empty.
  std::function<void(state::Transaction& transaction)> also;
};
struct Failed {
  Refused refused;
  const char* failure = nullptr;                 // the code on record; null: the problem's own
  actions::Event event = actions::Event::kFail;  // or kLose: nobody can tell whether it happened
  // As of Done.
  std::function<void(state::Transaction& transaction)> also = {};
};
using EffectEnd = std::variant<Done, Failed>;

// What a family adds to the life of a guarded action: one object for one request. The rest, from the key to
// the stored answer, is ActionFlow's and the same for all families. Calls come in the order of this class;
// everything but a repeat that is answered from the state passes prepare() anew, also after an approval.
//
//   class Commit final : public Effect { … };
//   runner.carryOut(caller, key, approvalOf(request), kj::heap<Commit>(…))
//
// To add a family: its folder, its schema, and a row each in policy/operations.cpp, launcher/roles.cpp,
// links/links.h, walls/profiles.cpp, recovery.cpp (where it reconciles) and ExecutorTable.
class Effect {
 public:
  enum class SubjectIs { kKnownFromRequest, kKnownAfterPrepare };

  virtual ~Effect() noexcept(false) = default;

  // ---- Of the request alone. Nothing has been looked up or started.
  virtual const policy::Operation& operation() const = 0;
  // Whether the request is whole. To be called first.
  virtual std::optional<Refused> validate() = 0;
  // Keyed, over everything that decides what happens; the approval is no part of it.
  virtual audit::Digest requestDigest() const = 0;
  // What nobody else may touch until this has been answered. Names begin with the family's.
  virtual std::vector<std::string> locks() const { return {}; }
  virtual const std::string& workspace() const = 0;  // its name
  // Known from the request, a denial by policy comes before anything is looked at.
  virtual SubjectIs subjectIs() const { return SubjectIs::kKnownFromRequest; }

  // ---- The dry run. Changes nothing.
  virtual kj::Promise<std::optional<Refused>> prepare() = 0;
  virtual const Prepared& prepared() const = 0;
  // What policy is asked; the flow adds the principal.
  virtual policy::Subject subject() const = 0;
  // What the card, the audit and every list call it. A bounded label, never a path.
  virtual audit::Label target() const = 0;
  // What is told when the basis is not what was approved.
  virtual redaction::Sentence driftDetail() const = 0;

  // ---- More that belongs to the same changes of the state. What they return is copied to the writer's
  // thread; where it throws actions::Refusal, the change is not made and the caller hears why.
  using Also = std::function<void(state::Transaction& transaction, const state::ActionRow& action)>;
  // To storing the action, whether it waits or begins at once; empty: nothing.
  virtual Also alsoOnProposal() { return {}; }
  // To the intent.
  virtual Also alsoOnIntent() { return {}; }

  // ---- The effect. The intent is durable.
  // The session that the action is going to make, if that is what it does. Once, before the intent.
  virtual std::optional<std::string> beginSession() { return std::nullopt; }
  // At most once in the life of the action. Must check by itself, as late as it can, that what it changes is
  // what prepare() saw. Its own deadlines apply; it does not reject.
  virtual kj::Promise<EffectEnd> run(const state::ActionRow& action) = 0;
};

// Tells after a crash whether an effect has happened. What effects leave behind is named after their action,
// so that this is a look-up and not a guess.
class Reconciler {
 public:
  enum class Found {
    kHappened,
    kDidNotHappen,
    kCantTell,  // now: it stays unknown until the next start asks again
  };
  struct Reconciled {
    Reconciled(Found what)
        : found(what) {}  // NOLINT(google-explicit-constructor): mostly nothing more is known
    Found found;
    // Of what ended by itself, where somebody can still tell it. Never 0 by default.
    std::optional<std::int32_t> exitCode;
    // Why it did not happen, where more is known than that a crash hid it.
    std::optional<audit::Code> failure;
  };
  virtual ~Reconciler() noexcept(false) = default;
  virtual kj::Promise<Reconciled> reconcile(const state::ActionRow& action) = 0;
};

}  // namespace factionos::broker
