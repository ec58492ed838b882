#include "workers/git/service.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <unistd.h>

#include <capnp/message.h>
#include <kj/debug.h>

#include "protocol/rpc/compat.h"
#include "protocol/text.h"
#include "workers/git/carry_out.h"
#include "workers/git/operations.h"
#include "workers/git/plain_files.h"
#include "workers/git/texts.h"

namespace factionos::git {
namespace {

// One answer takes no longer, whatever the repository holds: the work itself gives up when it is asked …
constexpr auto kLongestWork = std::chrono::seconds(18);
// … and where it is never asked, since it waits in the kernel or in libgit2, this process is of no more use.
// Whoever waits behind it is asked of another one.
constexpr auto kStuckAfter = std::chrono::milliseconds(19'500);
// A change that is being written is not cut before whoever waits for it stops waiting, after 60 s
// (broker/executors/git_change.cpp): the plan has had the time above, a hundred thousand files take theirs.
constexpr auto kStuckWriting = std::chrono::seconds(55);
constexpr auto kLook = 250 * kj::MILLISECONDS;

void fillDenial(schema::Denial::Builder denial, const Refusal& refusal) {
  const auto text = [](std::string_view from) { return kj::heapString(from.data(), from.size()); };
  denial.setCode(text(refusal.code));
  denial.setRule(text(refusal.rule));
  if (!refusal.target.empty()) denial.setTarget(text(refusal.target));
}

// Over when the time is, or when whoever asked has stopped waiting.
class Deadline final : public Patience {
 public:
  explicit Deadline(std::shared_ptr<const std::atomic<bool>> cancelled) : cancelled_(std::move(cancelled)) {}
  bool over() override {
    return cancelled_->load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= end_;
  }

 private:
  std::shared_ptr<const std::atomic<bool>> cancelled_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kLongestWork;
};

// What one job made: a message, or why there is none.
struct Made {
  std::unique_ptr<capnp::MallocMessageBuilder> message = std::make_unique<capnp::MallocMessageBuilder>();
  std::optional<Refusal> refusal;
};

// The repository, which belongs to the one thread of the pool from open() on.
struct Worked {
  Place place;
  git::Repository repository = nullptr;
  kj::Promise<void> ending = nullptr;  // the loop's

  Opened opened() {
    if (!place.refusal && markOf(place) != place.mark) throw Refusal{"stale", "configuration"};
    if (!repository) repository = openRepository(place);
    return {place, repository.get()};
  }
};

// Whatever it answers: where it met something that is no plain file, that is the answer.
template <typename Job>
auto amongPlainFiles(Job job) {
  const PlainFilesOnly met;
  try {
    auto result = job();
    met.mustBeAll();
    return result;
  } catch (const Refusal&) {
    met.mustBeAll();
    throw;
  }
}

using Clock = std::chrono::steady_clock;
using Begun = std::atomic<Clock::rep>;  // 0: it waits for its turn

void begin(Begun& begun) {
  begun.store(Clock::now().time_since_epoch().count());
}

enum class Work {
  kReads,   // may be asked of another worker meanwhile: its end is told first
  kWrites,  // nobody looks at what it has done before it is gone: its end is its answer
};

// Resolves once the work has had its time. Its thread can't be called back, so the process ends.
kj::Promise<Refusal> whenStuck(rpc::Loop& loop, Worked& worked, std::shared_ptr<Begun> begun, Work kind) {
  return loop.timer().afterDelay(kLook).then([&loop, &worked, begun, kind]() -> kj::Promise<Refusal> {
    const auto since = begun->load();
    const Clock::duration limit = kind == Work::kReads ? Clock::duration(kStuckAfter) : kStuckWriting;
    if (since == 0 || Clock::now() < Clock::time_point(Clock::duration(since)) + limit)
      return whenStuck(loop, worked, begun, kind);
    if (kind == Work::kWrites) _exit(0);
    worked.ending = loop.timer().afterDelay(kLook).then([]() { _exit(0); }).eagerlyEvaluate(nullptr);
    return Refusal{"timed_out", "stuck"};
  });
}

class RepositoryServer final : public schema::Repository::Server {
 public:
  RepositoryServer(rpc::Loop& loop, std::shared_ptr<Worked> worked)
      : loop_(loop), worked_(std::move(worked)) {}

  kj::Promise<void> status(StatusContext context) override {
    return answer<schema::GitStatusRequest, schema::GitStatus>(
        context, git::status, [](auto results, auto made) { results.setStatus(made); });
  }
  kj::Promise<void> diff(DiffContext context) override {
    return answer<schema::GitDiffRequest, schema::GitDiff>(
        context, git::diff, [](auto results, auto made) { results.setDiff(made); });
  }
  kj::Promise<void> log(LogContext context) override {
    return answer<schema::GitLogRequest, schema::GitLog>(
        context, git::log, [](auto results, auto made) { results.setLog(made); });
  }
  kj::Promise<void> show(ShowContext context) override {
    return answer<schema::GitShowRequest, schema::GitShow>(
        context, git::show, [](auto results, auto made) { results.setShow(made); });
  }
  kj::Promise<void> branches(BranchesContext context) override {
    return answer<schema::GitBranchesRequest, schema::GitBranches>(
        context, git::branches, [](auto results, auto made) { results.setBranches(made); });
  }

  kj::Promise<void> prepare(PrepareContext context) override {
    rpc::allowCancellation(context);
    auto change = copyOf<schema::GitChange>(context.getParams().getChange());
    return work([worked = worked_, change](Made& made, Patience& patience) {
             const Preview preview = amongPlainFiles([&]() {
               return git::preview(worked->opened(), change->getRoot<schema::GitChange>().asReader(),
                                   patience);
             });
             fillPreview(preview, made.message->initRoot<schema::GitPreview>());
           })
        .then([context](Made made) mutable {
          if (made.refusal) return fillDenial(context.getResults().initDenial(), *made.refusal);
          context.getResults().setPreview(made.message->getRoot<schema::GitPreview>().asReader());
        });
  }

  // Not cancelled by whoever stops waiting: what has begun is finished, and reconcile() tells of it.
  kj::Promise<void> run(RunContext context) override {
    const auto params = context.getParams();
    auto change = copyOf<schema::GitChange>(params.getChange());
    auto snapshot = std::make_shared<std::string>();
    return work(
               [worked = worked_, change, snapshot, id = std::string(view(params.getActionId())),
                state = std::string(view(params.getState()))](Made& made, Patience& patience) {
                 const Outcome outcome =
                     carryOut(worked->place, id, change->getRoot<schema::GitChange>().asReader(), state,
                              patience, *snapshot);
                 fillOutcome(outcome, id, made.message->initRoot<schema::GitOutcome>());
               },
               Work::kWrites)
        .then([context, snapshot](Made made) mutable {
          context.getResults().setSnapshot(snapshot->c_str());
          if (made.refusal) return fillDenial(context.getResults().initDenial(), *made.refusal);
          context.getResults().setOutcome(made.message->getRoot<schema::GitOutcome>().asReader());
        });
  }

  kj::Promise<void> reconcile(ReconcileContext context) override {
    auto verdict = std::make_shared<schema::GitVerdict>(schema::GitVerdict::UNSPECIFIED);
    return work([worked = worked_, verdict, id = std::string(view(context.getParams().getActionId()))](
                    Made&, Patience&) {
             *verdict = amongPlainFiles([&]() { return git::reconcile(worked->opened(), id); });
           })
        .then([context, verdict](Made made) mutable {
          if (made.refusal) return fillDenial(context.getResults().initDenial(), *made.refusal);
          context.getResults().setVerdict(*verdict);
        });
  }

  kj::Promise<void> worktrees(WorktreesContext context) override {
    auto rows = std::make_shared<std::vector<WorktreeRow>>();
    return work([worked = worked_, rows](Made&, Patience&) {
             *rows = amongPlainFiles([&]() { return git::worktrees(worked->opened()); });
           })
        .then([context, rows](Made made) mutable {
          if (made.refusal) return fillDenial(context.getResults().initDenial(), *made.refusal);
          auto list = context.getResults().initWorktrees(static_cast<unsigned>(rows->size()));
          for (unsigned i = 0; i < list.size(); ++i) fillWorktree((*rows)[i], list[i]);
        });
  }

 private:
  static void fillPreview(const Preview& preview, schema::GitPreview::Builder reply) {
    const Plan& plan = preview.plan;
    reply.setTarget(plan.target.c_str());
    reply.setState(preview.state.c_str());
    reply.setFiles(plan.files);
    reply.setInsertions(plan.insertions);
    reply.setDeletions(plan.deletions);
    reply.setCommits(plan.commits);
    reply.setRefs(plan.set.movedRefs());
    reply.setRollback(plan.set.push ? schema::Rollback::NONE : schema::Rollback::MANUAL);
    auto notes = reply.initNotes(static_cast<unsigned>(plan.notes.size()));
    for (unsigned i = 0; i < notes.size(); ++i) notes.set(i, plan.notes[i].c_str());
  }

  static void fillOutcome(const Outcome& outcome, const std::string& id, schema::GitOutcome::Builder reply) {
    if (!outcome.commit.empty()) reply.setCommit(outcome.commit.c_str());
    if (!outcome.branch.empty()) reply.setBranch(utf8(outcome.branch).c_str());
    reply.setFiles(outcome.files);
    reply.setRefs(outcome.refs);
    reply.setObjects(outcome.objects);
    reply.setSnapshot(id.c_str());
  }

  template <typename Struct>
  static std::shared_ptr<capnp::MallocMessageBuilder> copyOf(typename Struct::Reader from) {
    auto copy = std::make_shared<capnp::MallocMessageBuilder>();
    copy->setRoot(from);
    return copy;
  }

  static void fillWorktree(const WorktreeRow& row, schema::GitWorktree::Builder worktree) {
    if (!row.name.empty()) worktree.setName(utf8(row.name).c_str());
    if (!row.directory.empty()) fill(worktree.initDirectory(), row.directory);
    if (!row.branch.empty()) worktree.setBranch(utf8(row.branch).c_str());
    if (!row.commit.empty()) worktree.setCommit(utf8(row.commit).c_str());
    worktree.setLocked(row.locked);
    worktree.setMissing(row.missing);
    worktree.setMain(row.main);
  }

  template <typename Job>
  kj::Promise<Made> work(Job job, Work kind = Work::kReads) {
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    auto begun = std::make_shared<Begun>(0);
    auto run = [job = std::move(job), cancelled, begun]() mutable {
      Made made;
      begin(*begun);
      Deadline deadline(cancelled);
      try {
        job(made, deadline);
      } catch (const Refusal& refusal) {
        made.refusal = refusal;
      } catch (const std::bad_alloc&) {
        made.refusal = Refusal{"too_large", "memory"};
      }
      return made;
    };
    return loop_.blocking(std::move(run))
        .exclusiveJoin(whenStuck(loop_, *worked_, begun, kind).then([](Refusal&& refusal) {
          Made made;
          made.refusal = std::move(refusal);
          return made;
        }))
        .attach(kj::defer([cancelled]() { cancelled->store(true); }));
  }

  template <typename Request, typename Reply, typename Context, typename Operation, typename Set>
  kj::Promise<void> answer(Context context, Operation operation, Set set) {
    rpc::allowCancellation(context);
    auto request = copyOf<Request>(context.getParams().getRequest());
    return work([worked = worked_, request, operation](Made& made, Patience& patience) {
             const auto attempt = [&]() {
               amongPlainFiles([&]() {
                 operation(worked->opened(), request->template getRoot<Request>().asReader(),
                           made.message->template initRoot<Reply>(), patience);
                 return true;
               });
             };
             try {
               attempt();
             } catch (const Refusal& refusal) {
               // The user's own gc or rebase may have taken a pack away in the midst: once more, opened anew.
               if (refusal.code != "repository_refused") throw;
               worked->repository.reset();
               made = Made();
               attempt();
             }
           })
        .then([context, set](Made made) mutable {
          if (made.refusal) return fillDenial(context.getResults().initDenial(), *made.refusal);
          set(context.getResults(), made.message->template getRoot<Reply>().asReader());
        });
  }

  rpc::Loop& loop_;
  std::shared_ptr<Worked> worked_;
};

class Service final : public schema::Git::Server {
 public:
  Service(rpc::Loop& loop, Place place) : loop_(loop), worked_(std::make_shared<Worked>()) {
    worked_->place = std::move(place);
  }

  kj::Promise<void> open(OpenContext context) override {
    auto begun = std::make_shared<Begun>(0);
    const auto run = [worked = worked_, begun]() -> std::optional<Refusal> {
      begin(*begun);
      try {
        amongPlainFiles([&]() { return worked->opened(); });
        return std::nullopt;
      } catch (const Refusal& refusal) {
        return refusal;
      }
    };
    auto stuck = whenStuck(loop_, *worked_, begun, Work::kReads).then([](Refusal&& refusal) {
      return std::optional<Refusal>(std::move(refusal));
    });
    return loop_.blocking(run)
        .exclusiveJoin(kj::mv(stuck))
        .then([this, context](std::optional<Refusal> refusal) mutable {
          if (refusal) return fillDenial(context.getResults().initDenial(), *refusal);
          context.getResults().setRepository(kj::heap<RepositoryServer>(loop_, worked_));
        });
  }

 private:
  rpc::Loop& loop_;
  std::shared_ptr<Worked> worked_;
};

}  // namespace

schema::Git::Client makeService(rpc::Loop& loop, Place place) {
  return kj::heap<Service>(loop, std::move(place));
}

}  // namespace factionos::git
