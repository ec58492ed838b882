#include "workers/file/kept.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "workers/file/place.h"
#include "workers/file/protected.h"

namespace factionos::file {
namespace {

constexpr std::string_view kFolder = "kept";
constexpr const char* kRecord = "record";
constexpr const char* kContent = "content";
constexpr std::size_t kMostNames = 4096;  // looked at; more are not ours

const char* nameOf(Phase phase) {
  return phase == Phase::kDone ? "done" : "ready";
}

sandbox::Fd openRegular(int directory, const char* name) {
  auto file = openHere(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

// A directory of ours, made if need be; a link or a file in its place is refused.
sandbox::Fd ownDirectory(int parent, const char* name) {
  if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST) return {};
  return openHere(parent, name, O_RDONLY | O_DIRECTORY);
}

bool writeNew(int directory, const char* name, std::string_view content) {
  const auto file = openHere(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  return file && writeAll(file.get(), content) && fsync(file.get()) == 0;
}

bool has(int directory, const char* name) {
  return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

sandbox::Fd Kept::folder() const {
  const auto own = openHere(workspace_, std::string(kOwnFolder), O_RDONLY | O_DIRECTORY);
  return own ? openHere(own.get(), std::string(kFolder), O_RDONLY | O_DIRECTORY) : sandbox::Fd();
}

Or<sandbox::Fd> Kept::makeFolder() {
  const auto own = ownDirectory(workspace_, std::string(kOwnFolder).c_str());
  if (!own) return denialOf(errno);
  if (!has(own.get(), ".gitignore")) (void)writeNew(own.get(), ".gitignore", "*\n");
  auto folder = ownDirectory(own.get(), std::string(kFolder).c_str());
  if (!folder) return denialOf(errno);
  return folder;
}

sandbox::Fd Kept::entry(const std::string& action) const {
  if (!isAction(action)) return {};
  const auto all = folder();
  return all ? openHere(all.get(), action, O_RDONLY | O_DIRECTORY) : sandbox::Fd();
}

std::optional<Denied> Kept::begin(const KeptRecord& record) {
  if (!isAction(record.action)) return denials::kBadRequest;
  const auto made = makeFolder();
  if (const Denied* denied = deniedIn(made)) return *denied;
  const int all = std::get<sandbox::Fd>(made).get();
  if (mkdirat(all, record.action.c_str(), 0700) != 0)
    return errno == EEXIST ? denials::kTwice : denialOf(errno);
  const auto own = openHere(all, record.action, O_RDONLY | O_DIRECTORY);
  if (!own) return denialOf(errno);
  const bool written = writeNew(own.get(), "record.new", encode(record)) &&
                       renameat(own.get(), "record.new", own.get(), kRecord) == 0 && fsync(own.get()) == 0 &&
                       fsync(all) == 0;
  if (written) return std::nullopt;
  const Denied denied = denialOf(errno);
  remove(record.action);
  return denied;
}

std::optional<Denied> Kept::keepContent(const std::string& action, int file) {
  const auto own = entry(action);
  if (!own) return denials::kFailed;
  const auto copy = openHere(own.get(), kContent, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!copy || !copyAll(file, copy.get()) || fsync(copy.get()) != 0) return denialOf(errno);
  return std::nullopt;
}

std::optional<Denied> Kept::mark(const std::string& action, Phase phase) {
  const auto own = entry(action);
  if (!own) return denials::kFailed;
  if (!writeNew(own.get(), nameOf(phase), {}) && errno != EEXIST) return denialOf(errno);
  if (fsync(own.get()) != 0) return denialOf(errno);
  return std::nullopt;
}

void Kept::remove(const std::string& action) {
  const auto all = folder();
  const auto own = entry(action);
  if (!all || !own) return;
  // The record first: without it there is no entry any more.
  for (const char* name : {kRecord, "record.new", "ready", "done", kContent}) unlinkat(own.get(), name, 0);
  unlinkat(all.get(), action.c_str(), AT_REMOVEDIR);
}

std::optional<KeptCopy> Kept::find(const std::string& action) const {
  const auto own = entry(action);
  if (!own) return std::nullopt;
  const auto file = openRegular(own.get(), kRecord);
  if (!file) return std::nullopt;
  const auto text = readAll(file.get(), 16 * 1024);
  if (deniedIn(text) != nullptr) return std::nullopt;
  auto record = decode(std::get<std::string>(text));
  if (!record || record->action != action) return std::nullopt;
  KeptCopy copy{.record = *std::move(record)};
  if (has(own.get(), nameOf(Phase::kReady))) copy.phase = Phase::kReady;
  if (has(own.get(), nameOf(Phase::kDone))) copy.phase = Phase::kDone;
  return copy;
}

sandbox::Fd Kept::content(const std::string& action) const {
  const auto own = entry(action);
  return own ? openRegular(own.get(), kContent) : sandbox::Fd();
}

Kept::Names Kept::names() const {
  Names names;
  auto all = folder();
  if (!all) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(all.get()), closedir);
  if (!stream) return names;
  (void)all.release();  // the stream's now
  while (const dirent* each = readdir(stream.get())) {
    const std::string_view name = each->d_name;
    if (name == "." || name == "..") continue;
    if (isAction(name)) {
      names.actions.emplace_back(name);
    } else {
      ++names.others;
    }
    if (names.actions.size() + names.others == kMostNames) break;
  }
  std::ranges::sort(names.actions, std::greater<>());  // ids are time-ordered
  return names;
}

Kept::Records Kept::list(std::string_view path, std::string_view before, std::size_t most) const {
  const Names all = names();
  // What has no place in the order is told with the first page.
  Records found{.records = {}, .skipped = before.empty() ? all.others : 0};
  for (const std::string& action : all.actions) {
    if (!before.empty() && action >= before) continue;
    auto copy = find(action);
    if (!copy) ++found.skipped;
    if (!copy || copy->phase != Phase::kDone) continue;
    if (!path.empty() && copy->record.path != path) continue;
    found.records.push_back(std::move(copy->record));
    if (found.records.size() == most) break;
  }
  return found;
}

std::uint64_t Kept::totalBytes() const {
  std::uint64_t total = 0;
  for (const std::string& action : names().actions) {
    const auto file = content(action);
    struct stat status {};
    if (file && fstat(file.get(), &status) == 0) total += static_cast<std::uint64_t>(status.st_size);
  }
  return total;
}

void Kept::trim(const std::string& current, std::int64_t nowMs) {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (const std::string& action : names().actions) {
    const auto file = content(action);
    struct stat status {};
    if (file && fstat(file.get(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_size);
    ++count;
    if (action == current) continue;
    const auto copy = find(action);
    // What a crash left half-way is the reconciliation's.
    if (copy && copy->phase == Phase::kReady) continue;
    const bool old = !copy || nowMs - copy->record.keptMs > bounds_.ageMs;
    if (old || count > bounds_.entries || bytes > bounds_.bytes) remove(action);
  }
}

}  // namespace factionos::file
