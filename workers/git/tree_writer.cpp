#include "workers/git/tree_writer.h"

#include <array>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/entries.h"
#include "workers/file/protected.h"
#include "workers/git/files.h"
#include "workers/git/filters.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{256} << 20;
constexpr std::string_view kTemporary = ".factionos-";
constexpr std::string_view kTaken = "was-";  // of a name that begins so: an old file, or a whole new one

void mustWrite(bool fact) {
  git::mustWrite(fact, "working_tree");
}

std::string readAll(int file, std::size_t expected) {
  if (expected > kMostFileBytes) throw Refusal{"too_large", "file"};
  std::string content(expected + 1, '\0');
  std::size_t have = 0;
  while (true) {
    if (have == content.size()) content.resize(content.size() * 2);
    const ssize_t got = ::read(file, content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Refusal{"not_readable", "file"};
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
    if (have > kMostFileBytes) throw Refusal{"too_large", "file"};
  }
  content.resize(have);
  return content;
}

template <std::size_t size>
std::string digitsOf(const std::array<unsigned char, size>& bytes) {
  std::array<char, size * 2 + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  return hex.data();
}

// Nobody can have put something in its place beforehand.
std::string randomName() {
  std::array<unsigned char, 8> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  return digitsOf(bytes);
}

std::string linkTarget(int parent, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlinkat(parent, name.c_str(), target.data(), target.size());
  if (size < 0) throw Refusal{"not_readable", "link"};
  return {target.data(), static_cast<std::size_t>(size)};
}

git_oid stored(git_repository* repository, std::string_view content, TreeWriter::Store store) {
  git_oid id;
  if (store == TreeWriter::Store::kWrite) {
    must(git_blob_create_from_buffer(&id, repository, content.data(), content.size()));
  } else {
    must(git_odb_hash(&id, content.data(), content.size(), GIT_OBJECT_BLOB));
  }
  return id;
}

// Whatever their modes: core.filemode may have the index keep another than the file has.
bool hasSameContent(const FileState& one, const FileState& other) {
  return one.there() && other.there() && git_oid_equal(&one.id, &other.id) != 0 &&
         (one.mode == GIT_FILEMODE_LINK) == (other.mode == GIT_FILEMODE_LINK);
}

// Line ends and $Id$ as git stores them.
std::string cleaned(git_repository* repository, const std::string& path, std::string content) {
  git_filter_list* raw = nullptr;
  must(git_filter_list_load(&raw, repository, nullptr, path.c_str(), GIT_FILTER_TO_ODB, GIT_FILTER_DEFAULT));
  const FilterList filters(raw);
  if (!filters) return content;
  Buffer clean;
  must(git_filter_list_apply_to_buffer(clean.out(), filters.get(), content.data(), content.size()));
  return {clean.data(), clean.size()};
}

}  // namespace

sandbox::Fd TreeWriter::openParent(const std::string& path, std::string& name) const {
  Split split = splitOf(path);
  name = std::move(split.leaf);
  return openBeneath(directory_, split.above, O_RDONLY | O_DIRECTORY);
}

sandbox::Fd TreeWriter::parentOf(const std::string& path, std::string& name) const {
  sandbox::Fd found = openParent(path, name);
  if (!found && errno == ELOOP) throw Refusal{"scope_violation", "parent_is_a_link"};
  return found;
}

TreeWriter::There TreeWriter::at(const std::string& path) const {
  std::string name;
  const sandbox::Fd parent = parentOf(path, name);
  if (!parent) return errno == ENOENT ? There::kNothing : There::kInTheWay;
  struct stat status {};
  if (fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? There::kNothing : There::kInTheWay;
  if (S_ISDIR(status.st_mode)) return There::kDirectory;
  return S_ISREG(status.st_mode) || S_ISLNK(status.st_mode) ? There::kFile : There::kInTheWay;
}

bool TreeWriter::isBehindLink(const std::string& path) const {
  std::string name;
  return !openParent(path, name) && errno == ELOOP;
}

bool TreeWriter::isThere(const std::string& path) const {
  struct stat status {};
  std::string name;
  const sandbox::Fd parent = openParent(path, name);
  return parent && fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

void TreeWriter::makeParents(const std::string& path) const {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    std::string name;
    const sandbox::Fd parent = parentOf(directory, name);
    mustWrite(static_cast<bool>(parent));
    makeDirectory(parent.get(), name);
  }
}

// A directory with those in it, where none of them holds anything else. What is no directory stays, and so
// does each that it lies in.
void TreeWriter::removeEmpty(int parent, const std::string& name, const std::string& path) const {
  struct stat status {};
  if (fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode) ||
      file::isProtected(directory_, path) || unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 ||
      errno != ENOTEMPTY)
    return;
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(parent, name, O_RDONLY | O_DIRECTORY));
  while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr)
    removeEmpty(dirfd(stream.get()), entry->d_name, path + "/" + entry->d_name);
  unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

void TreeWriter::tidy(const std::string& path) const {
  std::string name;
  sandbox::Fd parent = openParent(path, name);
  if (!parent) return;  // behind a link there is nothing of ours
  const std::string prefix = std::string(kTemporary) + mark_ + "-";
  const sandbox::DirectoryStream stream = sandbox::streamOf(std::move(parent));
  while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr) {
    const std::string_view each = entry->d_name;
    if (each.starts_with(prefix) && !each.substr(prefix.size()).starts_with(kTaken))
      unlinkat(dirfd(stream.get()), entry->d_name, 0);
  }
}

std::string TreeWriter::asideOf(const std::string& path) const {
  std::array<unsigned char, crypto_generichash_BYTES_MIN> digest{};
  crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(path.data()),
                     path.size(), nullptr, 0);
  return std::string(kTemporary) + mark_ + "-" + std::string(kTaken) + digitsOf(digest);
}

void TreeWriter::giveBack(const FileEdit& edit) const {
  std::string name;
  const sandbox::Fd parent = openParent(edit.path, name);
  const std::string aside = asideOf(edit.path);
  if (!parent || git::stampOf(parent.get(), aside).mode == 0) return;
  const FileState taken = stateAt(parent.get(), aside, edit.path);
  const bool isNew = hasSameContent(taken, edit.after);  // it had not come to its place yet
  if (!isNew && renameToFree(parent.get(), aside, name) == 0) return;
  if (isNew || hasSameContent(taken, edit.before)) unlinkat(parent.get(), aside.c_str(), 0);
}

void TreeWriter::write(const std::string& path, const Blob& blob, std::uint32_t kind, int parent,
                       const std::string& temporary) const {
  const std::string_view raw(static_cast<const char*>(git_blob_rawcontent(blob.get())),
                             static_cast<std::size_t>(git_blob_rawsize(blob.get())));
  if (kind == GIT_FILEMODE_LINK)
    return mustWrite(symlinkat(std::string(raw).c_str(), parent, temporary.c_str()) == 0);
  const mode_t mode = kind == GIT_FILEMODE_BLOB_EXECUTABLE ? 0777 : 0666;
  const sandbox::Fd file(
      openat(parent, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  mustWrite(static_cast<bool>(file));
  git_filter_list* list = nullptr;
  must(git_filter_list_load(&list, repository_, blob.get(), path.c_str(), GIT_FILTER_TO_WORKTREE,
                            GIT_FILTER_DEFAULT));
  const FilterList filters(list);
  Buffer smudged;
  if (filters) must(git_filter_list_apply_to_blob(smudged.out(), filters.get(), blob.get()));
  mustWrite(writeAll(file.get(), filters ? std::string_view(smudged.data(), smudged.size()) : raw));
}

Stamp TreeWriter::stampOf(const std::string& path) const {
  std::string name;
  const sandbox::Fd parent = openParent(path, name);
  return parent ? git::stampOf(parent.get(), name) : Stamp();
}

KnownFile TreeWriter::knownFile(const std::string& path, const Judged& judged) const {
  return {judged.stamp, [this, &path, &judged](int parent, const std::string& name) {
            return hasSameContent(stateAt(parent, name, path), judged.state);
          }};
}

void TreeWriter::mustStillBe(const std::string& path, const Judged& judged) const {
  std::string name;
  const sandbox::Fd parent = parentOf(path, name);
  if (!parent || !isStill(parent.get(), name, knownFile(path, judged)))
    throw Refusal{"would_overwrite", "edited", "1"};
}

template <typename Place>
void TreeWriter::writeFor(const std::string& path, const FileState& state, Place place) const {
  std::string name;
  const sandbox::Fd parent = parentOf(path, name);
  mustWrite(static_cast<bool>(parent));
  const Blob blob = make<Blob>(git_blob_lookup, repository_, &state.id);
  const std::string temporary = std::string(kTemporary) + mark_ + "-" + randomName();
  try {
    write(path, blob, state.mode, parent.get(), temporary);
    place(parent.get(), temporary, name);
  } catch (...) {
    unlinkat(parent.get(), temporary.c_str(), 0);
    throw;
  }
}

void TreeWriter::put(const std::string& path, const FileState& state) const {
  makeParents(path);
  std::string name;
  const sandbox::Fd parent = parentOf(path, name);
  mustWrite(static_cast<bool>(parent));
  if (state.mode == GIT_FILEMODE_COMMIT) {  // submodules are not entered
    makeDirectory(parent.get(), name);
    return;
  }
  removeEmpty(parent.get(), name, path);
  writeFor(path, state, bring);
}

void TreeWriter::putOver(const std::string& path, const FileState& state, const Judged& judged) const {
  writeFor(path, state, [&](int parent, const std::string& fresh, const std::string& name) {
    replace(parent, fresh, name, asideOf(path), knownFile(path, judged));
  });
}

void TreeWriter::remove(const std::string& path, const Judged& judged) const {
  std::string name;
  const sandbox::Fd parent = parentOf(path, name);
  if (!parent) throw Refusal{"would_overwrite", "edited", "1"};
  removeKnown(parent.get(), name, asideOf(path), knownFile(path, judged));
  const std::string above = splitOf(path).above;
  if (above != ".") removeDirectories(above);
}

void TreeWriter::removeDirectories(const std::string& path) const {
  for (std::string directory = path; directory != "."; directory = splitOf(directory).above) {
    std::string name;
    const sandbox::Fd parent = parentOf(directory, name);
    if (parent && unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return;
  }
}

std::uint32_t TreeWriter::read(const std::string& path, std::string& content) const {
  std::string name;
  const sandbox::Fd parent = parentOf(path, name);
  return parent ? readAt(parent.get(), name, path, content) : 0;
}

std::uint32_t TreeWriter::readAt(int parent, const std::string& name, const std::string& path,
                                 std::string& content) const {
  struct stat status {};
  if (fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  if (S_ISLNK(status.st_mode)) {
    content = linkTarget(parent, name);
    return GIT_FILEMODE_LINK;
  }
  if (!S_ISREG(status.st_mode)) throw Refusal{"invalid", "neither_file_nor_link"};
  if (filterOf(repository_, path) != FilterKind::kNone) throw Refusal{"filter_attribute", "stage"};
  const sandbox::Fd file(openat(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw Refusal{"not_readable", "file"};
  content = cleaned(repository_, path, readAll(file.get(), static_cast<std::size_t>(status.st_size)));
  return canonicalMode(status.st_mode);
}

FileState TreeWriter::stateAt(int parent, const std::string& name, const std::string& path) const {
  try {
    std::string content;
    FileState state;
    state.mode = readAt(parent, name, path, content);
    if (state.there()) state.id = stored(repository_, content, Store::kDry);
    return state;
  } catch (const Refusal&) {
    return {};
  }
}

FileState TreeWriter::take(const std::string& path, Store store) const {
  std::string content;
  FileState state;
  state.mode = read(path, content);
  if (state.there()) state.id = stored(repository_, content, store);
  return state;
}

FileState TreeWriter::now(const std::string& path) const {
  struct stat status {};
  std::string name;
  const sandbox::Fd parent = openParent(path, name);
  if (!parent || fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return S_ISDIR(status.st_mode) ? FileState{} : take(path, Store::kDry);
}

std::string TreeWriter::cleanContent(const std::string& path) const {
  std::string content;
  read(path, content);
  return content;
}

void TreeWriter::describe(const std::string& path, const FileState& state, git_index_entry& entry) const {
  entry = {};
  entry.path = path.c_str();
  entry.mode = state.mode;
  entry.id = state.id;
  struct stat status {};
  std::string name;
  const sandbox::Fd parent = openParent(path, name);
  if (!parent || fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  entry.ctime = {static_cast<std::int32_t>(status.st_ctim.tv_sec),
                 static_cast<std::uint32_t>(status.st_ctim.tv_nsec)};
  entry.mtime = {static_cast<std::int32_t>(status.st_mtim.tv_sec),
                 static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
  entry.dev = static_cast<std::uint32_t>(status.st_dev);
  entry.ino = static_cast<std::uint32_t>(status.st_ino);
  entry.uid = status.st_uid;
  entry.gid = status.st_gid;
  entry.file_size = static_cast<std::uint32_t>(status.st_size);
}

}  // namespace factionos::git
