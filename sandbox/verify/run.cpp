#include "sandbox/verify/run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/verify/judge.h"
#include "sandbox/verify/marshal.h"
#include "sandbox/verify/world.h"

namespace factionos::sandbox::verify {
namespace {

using Depth = Setting::Depth;

// The stages of one subject: one for each setting, kept until an act has used it up.
class Theatre {
 public:
  Theatre(World& world, const Subject& subject, Shelf& shelf, std::size_t& tries)
      : world_(world), subject_(subject), shelf_(shelf), tries_(tries) {}

  // Each act once a setting, however many guarantees ask.
  Seen attempt(const Act& act, Setting setting, Allowed allowed = Allowed::kNo) {
    const auto key = std::pair(&act, setting);
    if (const auto found = seen_.find(key); found != seen_.end()) return found->second;
    return seen_.emplace(key, attemptNow(act, setting, allowed)).first->second;
  }

 private:
  Seen attemptNow(const Act& act, Setting setting, Allowed allowed) {
    // What can't be entered once can't be entered again.
    if (const auto found = refused_.find(setting); found != refused_.end()) return found->second;
    std::unique_ptr<Stage>& stage = stages_[setting];
    const bool unentered = setting.depth == Depth::kNamespaces && act.control == Control::kUnentered;
    if (stage == nullptr || !stage->usable() || unentered)
      stage = std::make_unique<Stage>(world_, subject_, setting, shelf_);
    ++tries_;
    const Seen seen = stage->attempt(act, allowed);
    if (!stage->usable()) stage.reset();
    if (seen.ending == Seen::Ending::kNotEntered) refused_.emplace(setting, seen);
    if (seen.happened || (seen.ending == Seen::Ending::kReturned && seen.error == 0)) world_.reset();
    return seen;
  }

  World& world_;
  const Subject& subject_;
  Shelf& shelf_;
  std::size_t& tries_;
  std::map<Setting, std::unique_ptr<Stage>> stages_;
  std::map<Setting, Seen> refused_;
  std::map<std::pair<const Act*, Setting>, Seen> seen_;
};

Setting controlOf(const Act& act) {
  const bool inside = act.control == Control::kNamespaces || act.control == Control::kUnentered;
  return {inside ? Depth::kNamespaces : Depth::kOpen, Layer::kSeccomp};
}

// Nothing but what a supervisor carries is tried under one: it is a process more.
Setting wholeFor(Layer layer) {
  return {Depth::kWhole, layer == Layer::kSupervisor ? layer : Layer::kSeccomp};
}

class Examination {
 public:
  Examination(const Order& order, Report& report)
      : order_(order),
        report_(report),
        world_(report.facts.support.namespaces),
        everybody_(world_, nobody_, shelf_, report.tries) {}

  void examine(const Subject& subject) {
    world_.environment =
        subject.environment ? subject.environment(presentEnvironment()) : std::vector<std::string>();
    Theatre theatre(world_, subject, shelf_, report_.tries);
    for (const Guarantee& guarantee : order_.guarantees) {
      if (guarantee.profile == subject.name) report_.findings.push_back(judge(guarantee, theatre));
    }
  }

 private:
  std::vector<const char*> presentEnvironment() {
    present_ = world_.variable + "=" + world_.variableValue;
    std::vector<const char*> variables = {present_.c_str()};
    for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
    return variables;
  }

  bool counts(const Guarantee& guarantee) const {
    const std::string full = std::string(guarantee.profile) + "/" + std::string(guarantee.id);
    return guarantee.strength == Strength::kRequired || report_.facts.missing(guarantee) == Feature::kNone ||
           std::ranges::any_of(order_.required, [&](const std::string& asked) {
             return asked == guarantee.id || asked == full;
           });
  }

  Finding judge(const Guarantee& guarantee, Theatre& theatre) {
    Finding finding;
    finding.guarantee = &guarantee;
    finding.counts = counts(guarantee);
    if (const Feature missing = report_.facts.missing(guarantee); missing != Feature::kNone) {
      finding.cause = "this kernel or caller is without: " + std::string(label(missing));
      return finding;
    }
    for (const std::string_view name : guarantee.forbidden) {
      finding.probes.push_back(probe(guarantee.layer, *findAct(name), theatre));
    }
    const Act& allowed = *findAct(guarantee.allowed);
    conclude(finding, allowed, theatre.attempt(allowed, wholeFor(guarantee.layer), Allowed::kYes));
    return finding;
  }

  Probe probe(Layer layer, const Act& act, Theatre& theatre) {
    Probe probe;
    probe.act = &act;
    const Setting setting = controlOf(act);
    probe.control = setting.depth == Depth::kOpen ? openControl(act) : theatre.attempt(act, setting);
    probe.whole = theatre.attempt(act, wholeFor(layer));
    // Nothing but a filter gives SIGSYS: there is no need to look at it alone.
    const bool told = layer == Layer::kSeccomp && probe.whole.killedByFilter();
    const Setting alone{Depth::kAlone, layer, layer == Layer::kLandlock && act.look == Look::kAfterEnd};
    probe.alone = told ? probe.whole : theatre.attempt(act, alone);
    Judgement judgement = decide(layer, act, probe.control, probe.alone, probe.whole, report_.facts.around);
    probe.verdict = judgement.verdict;
    probe.cause = std::move(judgement.cause);
    probe.refusedAround = judgement.refusedAround;
    return probe;
  }

  // Without a sandbox all profiles are alike.
  Seen openControl(const Act& act) {
    const std::vector<std::string> environment = std::exchange(world_.environment, {});
    for (const char* const variable : presentEnvironment()) world_.environment.emplace_back(variable);
    const Seen seen = everybody_.attempt(act, {Depth::kOpen, Layer::kSeccomp});
    world_.environment = environment;
    return seen;
  }

  const Order& order_;
  Report& report_;
  Shelf shelf_;
  World world_;
  const Subject nobody_{};
  Theatre everybody_;
  std::string present_;
};

constexpr std::size_t kMostProcesses = 4;

std::size_t processesFor(std::size_t subjects) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return std::clamp<std::size_t>(processors > 0 ? static_cast<std::size_t>(processors) : 1, 1,
                                 std::min(subjects, kMostProcesses));
}

// A process with a world of its own, which takes one subject after the other until none is left.
struct Prover {
  pid_t pid = -1;
  Fd result;
};

// What the provers take from, the dearest first: memory that all of them share.
class Queue {
 public:
  explicit Queue(std::vector<Subject> subjects) : subjects_(std::move(subjects)) {
    void* const memory =
        mmap(nullptr, sizeof *taken_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory");
    taken_ = new (memory) std::atomic<std::size_t>(0);
  }
  ~Queue() { munmap(taken_, sizeof *taken_); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] const std::vector<Subject>& subjects() const { return subjects_; }
  const Subject* take() {
    const std::size_t index = (*taken_)++;
    return index < subjects_.size() ? &subjects_[index] : nullptr;
  }

 private:
  std::vector<Subject> subjects_;
  std::atomic<std::size_t>* taken_;
};

[[noreturn]] void prove(const Order& order, Queue& queue, const Facts& facts, const Fd& out, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) _exit(1);
  std::string text;
  try {
    Report report;
    report.facts = facts;
    Examination examination(order, report);
    while (const Subject* const subject = queue.take()) examination.examine(*subject);
    text = written(report.findings, report.tries, order.guarantees);
  } catch (const std::exception&) {
    _exit(1);  // what it leaves out is told as lost
  }
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t size = write(out.get(), text.data() + at, text.size() - at);
    if (size <= 0) _exit(1);
    at += static_cast<std::size_t>(size);
  }
  _exit(0);
}

void start(const Order& order, Queue& queue, Prover& prover, const Facts& facts) {
  Pipe pipe = makePipe();
  const pid_t parent = getpid();
  prover.pid = fork();
  if (prover.pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (prover.pid == 0) prove(order, queue, facts, pipe.write, parent);
  prover.result = std::move(pipe.read);
}

std::string readAll(const Fd& from) {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = read(from.get(), buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Of subjects that were to be examined, what nobody has told of.
void addLost(const Order& order, const std::vector<Subject>& subjects, Report& report) {
  for (const Guarantee& guarantee : order.guarantees) {
    if (std::ranges::find(subjects, guarantee.profile, &Subject::name) == subjects.end() ||
        std::ranges::find(report.findings, &guarantee, &Finding::guarantee) != report.findings.end())
      continue;
    Finding finding;
    finding.guarantee = &guarantee;
    finding.counts = true;
    finding.cause = "the process that was to prove it could not, or was lost";
    report.findings.push_back(std::move(finding));
  }
}

void collect(const Order& order, Prover& prover, Report& report) {
  std::optional<Share> share = parsed(readAll(prover.result), order.guarantees);
  waitpid(prover.pid, nullptr, 0);
  if (!share) return;
  report.tries += share->tries;
  std::ranges::move(share->findings, std::back_inserter(report.findings));
}

// By how much there is to try; entering namespaces takes as long as the rest of an entry.
std::size_t costOf(const Order& order, const Subject& subject) {
  std::size_t acts = 0;
  for (const Guarantee& guarantee : order.guarantees) {
    if (guarantee.profile == subject.name) acts += guarantee.forbidden.size();
  }
  return anyWanted(subject.namespaces) ? 2 * acts : acts;
}

std::vector<Subject> chosen(const Order& order) {
  std::vector<Subject> subjects;
  std::ranges::copy_if(order.subjects, std::back_inserter(subjects), [&](const Subject& subject) {
    return order.profile.empty() || order.profile == subject.name || order.profile == subject.role;
  });
  std::ranges::stable_sort(subjects, std::ranges::greater(),
                           [&](const Subject& subject) { return costOf(order, subject); });
  return subjects;
}

}  // namespace

std::string_view label(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEnforced:
      return "enforced";
    case Verdict::kNotEnforced:
      return "not_enforced";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

std::size_t Report::probes() const {
  std::size_t sum = 0;
  for (const Finding& finding : findings) sum += finding.probes.size();
  return sum;
}

std::size_t Report::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      findings, [verdict](const Finding& finding) { return finding.verdict == verdict; }));
}

std::vector<const Finding*> Report::findingsOf(std::string_view profile) const {
  std::vector<const Finding*> own;
  for (const Finding& finding : findings) {
    if (finding.guarantee->profile == profile) own.push_back(&finding);
  }
  return own;
}

bool Report::passed() const {
  bool any = false;
  for (const Finding& finding : findings) {
    if (!finding.counts) continue;
    if (finding.verdict != Verdict::kEnforced) return false;
    any = true;
  }
  return any;
}

Report verify(const Order& order) {
  const auto begin = std::chrono::steady_clock::now();
  signal(SIGCHLD, SIG_DFL);  // whoever ignores it could not wait for anybody
  Report report;
  report.facts = gatherFacts();
  Queue queue(chosen(order));
  std::vector<Prover> provers(processesFor(queue.subjects().size()));
  for (Prover& prover : provers) start(order, queue, prover, report.facts);
  for (Prover& prover : provers) collect(order, prover, report);
  addLost(order, queue.subjects(), report);
  std::ranges::sort(report.findings, {}, &Finding::guarantee);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace factionos::sandbox::verify
