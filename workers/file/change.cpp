#include "workers/file/change.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "workers/file/landing.h"
#include "workers/file/protected.h"

namespace factionos::file {
namespace {

std::int64_t nowMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

constexpr std::uint32_t kNewMode = 0644;
constexpr int kNameAttempts = 4;  // whoever sees a name come can be in the way of it, but not for ever

std::size_t countOf(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

std::string replaced(std::string_view text, std::string_view part, std::string_view by) {
  std::string result;
  std::size_t from = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, from)) {
    result.append(text.substr(from, at - from)).append(by);
    from = at + part.size();
  }
  return result.append(text.substr(from));
}

}  // namespace

FileState stateOf(const struct stat& status) {
  FileState state;
  state.kind = S_ISREG(status.st_mode)   ? Kind::kFile
               : S_ISDIR(status.st_mode) ? Kind::kDirectory
               : S_ISLNK(status.st_mode) ? Kind::kSymlink
                                         : Kind::kOther;
  state.size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  state.mode = status.st_mode & 0777;
  state.modifiedMs = std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  state.links = static_cast<std::uint32_t>(status.st_nlink);
  return state;
}

FileState keptState(const KeptRecord& record) {
  FileState state;
  if (!record.before) return state;
  state.kind = Kind::kFile;
  state.size = record.size;
  state.mode = record.mode;
  state.sha = record.before;
  return state;
}

// What is there, and what is to be there.
struct Changer::Plan {
  std::optional<Place> place;  // none: a directory on the way is missing, and would be made
  sandbox::Fd file;            // the present file; empty: there is none
  Identity identity;
  FileState before;
  std::optional<std::string> after;  // the content to be; nothing: no file
  std::uint32_t mode = kNewMode;
  std::string entry;
  FileState kept;

  [[nodiscard]] FileState afterState() const {
    FileState state;
    if (!after) return state;
    state.kind = Kind::kFile;
    state.size = after->size();
    state.mode = mode;
    state.links = 1;
    state.sha = shaOf(*after);
    return state;
  }
};

Or<Changer::Plan> Changer::plan(const Change& change, Parents parents) {
  if (!isPlainPath(change.path)) return denials::kBadPath;
  if (isProtected(workspace_, change.path)) return denials::kProtected;
  Plan plan;
  auto place = placeOf(workspace_, change.path, parents);
  if (const Denied* denied = deniedIn(place)) {
    const auto* write = std::get_if<Write>(&change.what);
    const bool comes =
        denied->code == denials::kNotFound.code && write != nullptr && write->parents == Parents::kMake;
    if (!comes) return *denied;
  } else {
    plan.place.emplace(std::move(std::get<Place>(place)));
    struct stat status {};
    const auto handle = openHere(plan.place->directory.get(), plan.place->name, O_PATH);
    if (!handle && errno != ENOENT) return denialOf(errno);
    if (handle) {
      if (fstat(handle.get(), &status) != 0) return denialOf(errno);
      if (S_ISLNK(status.st_mode)) return denials::kSymlink;
      if (!S_ISREG(status.st_mode)) return denials::kNotFile;
      plan.file = openHere(plan.place->directory.get(), plan.place->name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
      if (!plan.file || fstat(plan.file.get(), &status) != 0) return denialOf(errno);
      if (!S_ISREG(status.st_mode)) return denials::kNotFile;
      if (static_cast<std::uint64_t>(status.st_size) > kLargestChanged) return denials::kTooLarge;
      plan.identity = identityOf(status);
      plan.before = stateOf(status);
      plan.before.attributes = attributesOf(plan.file.get());
      plan.before.sha = shaOf(plan.file.get());
      if (!plan.before.sha) return denials::kFailed;
      plan.mode = plan.before.mode;
    }
  }
  if (const auto denied = decide(change, plan)) return *denied;
  return plan;
}

std::optional<Denied> Changer::decide(const Change& change, Plan& plan) {
  if (const auto* write = std::get_if<Write>(&change.what)) {
    plan.after = std::string(write->content);
    return std::nullopt;
  }
  if (const auto* wanted = std::get_if<Restore>(&change.what)) return restore(*wanted, change.path, plan);
  if (!plan.file) return denials::kNotFound;
  if (const auto* wanted = std::get_if<Edit>(&change.what)) return edit(*wanted, plan);
  return std::nullopt;  // a deletion leaves nothing
}

std::optional<Denied> Changer::edit(const Edit& edit, Plan& plan) {
  if (edit.oldText.empty()) return denials::kNoMatch;
  if (edit.oldText == edit.newText) return denials::kUnchanged;
  const auto content = readAll(plan.file.get(), kLargestEdited);
  if (const Denied* denied = deniedIn(content)) return *denied;
  const std::string& text = std::get<std::string>(content);
  if (shaOf(text) != *plan.before.sha) return denials::kChanged;
  const std::size_t count = countOf(text, edit.oldText);
  if (count == 0) return denials::kNoMatch;
  if (count > 1 && !edit.everywhere) return denials::kManyMatches;
  if (text.size() + count * edit.newText.size() > kLargestEdited + count * edit.oldText.size())
    return denials::kTooLarge;
  plan.after = replaced(text, edit.oldText, edit.newText);
  return std::nullopt;
}

std::optional<Denied> Changer::restore(const Restore& restore, const std::string& path, Plan& plan) {
  plan.entry = restore.action;
  if (plan.entry.empty()) {
    const auto newest = kept_.list(path, {}, 1).records;
    if (newest.empty()) return denials::kNotKept;
    plan.entry = newest.front().action;
  }
  const auto copy = kept_.find(plan.entry);
  if (!copy || copy->phase != Phase::kDone || copy->record.path != path) return denials::kNotKept;
  plan.kept = keptState(copy->record);
  if (!copy->record.before) return plan.file ? std::nullopt : std::optional(denials::kUnchanged);
  const auto file = kept_.content(plan.entry);
  if (!file) return denials::kNotKept;
  auto content = readAll(file.get(), kLargestChanged);
  if (const Denied* denied = deniedIn(content)) return *denied;
  // Whoever can write the workspace can write the copy; what is not what was kept is not brought back.
  if (shaOf(std::get<std::string>(content)) != *copy->record.before) return denials::kNotKept;
  plan.after = std::move(std::get<std::string>(content));
  if (!plan.file) plan.mode = copy->record.mode;
  return std::nullopt;
}

Or<Changer::Preview> Changer::preview(const Change& change, std::size_t textBytes) {
  auto planned = plan(change, Parents::kMustExist);
  if (const Denied* denied = deniedIn(planned)) return *denied;
  const Plan& plan = std::get<Plan>(planned);
  Preview preview{
      .before = plan.before, .after = plan.afterState(), .diff = {}, .entry = plan.entry, .kept = plan.kept};
  std::string before;
  if (plan.file) {
    auto content = readAll(plan.file.get(), kLargestEdited);
    // Too large to be compared line by line.
    preview.diff.binary = deniedIn(content) != nullptr;
    if (!preview.diff.binary) before = std::move(std::get<std::string>(content));
  }
  const std::string_view after = plan.after ? std::string_view(*plan.after) : std::string_view();
  if (after.size() > kLargestEdited) preview.diff.binary = true;
  if (!preview.diff.binary) preview.diff = diffLines(before, after, textBytes);
  return preview;
}

Or<FileState> Changer::apply(const Change& change, const std::string& action, const std::string& operation,
                             const Approved& approved) {
  if (!isAction(action) || !isOperation(operation)) return denials::kBadRequest;
  const auto* write = std::get_if<Write>(&change.what);
  auto planned = plan(change, write != nullptr ? write->parents : Parents::kMustExist);
  if (const Denied* denied = deniedIn(planned)) return *denied;
  const Plan& plan = std::get<Plan>(planned);
  if (!plan.before.isAs(approved.before) || !plan.afterState().isAs(approved.after)) return denials::kChanged;

  KeptRecord record{.action = action,
                    .operation = operation,
                    .path = change.path,
                    .temporary = {},
                    .before = plan.before.sha,
                    .after = plan.afterState().sha,
                    .inode = plan.identity.inode,
                    .size = plan.before.size,
                    .mode = plan.before.mode,
                    .keptMs = nowMs()};
  std::optional<Denied> denied;
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    record.temporary = newName_();
    denied = carryOut(plan, record);
    if (!denied || denied->code != denials::kCrowded.code) break;
  }
  if (denied) return *denied;
  // It has happened; that this is not on record yet is what settle() is for.
  (void)kept_.mark(action, Phase::kDone);
  kept_.trim(action, record.keptMs);
  return plan.afterState();
}

// What is denied leaves nothing behind, neither on record nor beside the file; but for kUnsure.
std::optional<Denied> Changer::carryOut(const Plan& plan, const KeptRecord& record) {
  if (const auto denied = keep(plan, record)) return denied;
  auto denied = stage(plan, record.temporary);
  if (!denied) {
    denied = kept_.mark(record.action, Phase::kReady);
    if (denied) {
      unlinkat(plan.place->directory.get(), record.temporary.c_str(), 0);
    } else {
      denied = land(plan, record.temporary);
    }
  }
  if (denied && denied->code != denials::kUnsure.code) kept_.remove(record.action);
  return denied;
}

std::optional<Denied> Changer::keep(const Plan& plan, const KeptRecord& record) {
  if (const auto denied = kept_.begin(record)) return denied;
  if (!plan.file) return std::nullopt;
  auto denied = kept_.keepContent(record.action, plan.file.get());
  // Whoever changed the file while it was copied gets it back from us as it never was: so look again.
  const auto copy = kept_.content(record.action);
  if (!denied && (!copy || shaOf(copy.get()) != record.before)) denied = denials::kChanged;
  if (denied) kept_.remove(record.action);
  return denied;
}

// The new content beside its place, whole and durable, before anything is replaced. What is denied leaves no
// file, and touches none that was there.
std::optional<Denied> Changer::stage(const Plan& plan, const std::string& temporary) {
  if (!plan.after) return std::nullopt;
  const auto file = openHere(plan.place->directory.get(), temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file) return errno == EEXIST ? denials::kCrowded : denialOf(errno);
  bool whole = writeAll(file.get(), *plan.after);
  if (whole && plan.file) copyAttributes(plan.file.get(), file.get());
  whole = whole && fchmod(file.get(), plan.mode) == 0 && fsync(file.get()) == 0;
  if (whole) return std::nullopt;
  const Denied denied = denialOf(errno);
  unlinkat(plan.place->directory.get(), temporary.c_str(), 0);
  return denied;
}

std::optional<Denied> Changer::land(const Plan& plan, const std::string& temporary) {
  const Landing landing{
      .directory = plan.place->directory.get(), .name = plan.place->name, .temporary = temporary};
  if (!plan.file) return landing.create();
  return plan.after ? landing.replace(plan.identity, *plan.before.sha)
                    : landing.remove(plan.identity, *plan.before.sha);
}

Landed Changer::settle(const std::string& action) {
  const auto copy = kept_.find(action);
  if (!copy) {
    kept_.remove(action);
    return Landed::kNo;
  }
  if (copy->phase == Phase::kDone) return Landed::kYes;
  // The record lies where others may write.
  if (isProtected(workspace_, copy->record.path)) return Landed::kCantTell;
  const auto landed = settleReady(copy->record);
  if (landed == Landed::kYes) (void)kept_.mark(action, Phase::kDone);
  if (landed == Landed::kNo) kept_.remove(action);
  return landed;
}

Landed Changer::settleReady(const KeptRecord& record) {
  const auto place = placeOf(workspace_, record.path);
  if (deniedIn(place) != nullptr) {
    // Without its directory nothing of it can be there; but it may have been moved away since.
    return kept_.find(record.action)->phase == Phase::kBegun ? Landed::kNo : Landed::kCantTell;
  }
  const Place& found = std::get<Place>(place);
  const Landing landing{
      .directory = found.directory.get(), .name = found.name, .temporary = record.temporary};
  if (kept_.find(record.action)->phase == Phase::kBegun) {
    landing.dropTemporary();
    return Landed::kNo;
  }
  return landing.settle(record);
}

}  // namespace factionos::file
