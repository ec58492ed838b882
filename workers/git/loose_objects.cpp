#include "workers/git/loose_objects.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#if __has_include(<git2/sys/errors.h>)  // where newer releases have git_error_set_str()
#include <git2/sys/errors.h>
#endif

#include "workers/git/durable.h"
#include "workers/git/files.h"
#include "workers/git/repository.h"

namespace factionos::git {
namespace {

constexpr int kBeforeTheOthers = 10;        // libgit2's own have 1 and 2
constexpr std::size_t kLongestHeader = 64;  // as libgit2's
constexpr std::size_t kChunk = std::size_t{64} << 10;

struct Header {
  git_object_t type = GIT_OBJECT_INVALID;
  std::size_t size = 0;    // of the object
  std::size_t length = 0;  // of the header, with its NUL
};

// "TYPE SIZE", then NUL.
std::optional<Header> headerIn(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::size_t end = text.find('\0');
  if (end == std::string_view::npos || space >= end) return std::nullopt;
  Header header;
  header.type = git_object_string2type(std::string(text.substr(0, space)).c_str());
  header.length = end + 1;
  const auto [stopped, error] = std::from_chars(text.data() + space + 1, text.data() + end, header.size);
  if (error != std::errc() || stopped != text.data() + end || git_object_typeisloose(header.type) == 0)
    return std::nullopt;
  return header;
}

// A file of one zlib stream. What it gives never exceeds what it is asked for, and a stream that ends early
// is the end.
class Inflating {
 public:
  explicit Inflating(int file) : file_(file) { ready_ = inflateInit(&stream_) == Z_OK; }
  ~Inflating() { inflateEnd(&stream_); }
  Inflating(const Inflating&) = delete;
  Inflating& operator=(const Inflating&) = delete;

  // Up to `size` bytes: fewer only where the stream is over. Nothing if it is no whole stream.
  std::optional<std::size_t> take(void* to, std::size_t size) {
    std::size_t done = 0;
    while (ready_ && !over_ && done < size) {
      if (stream_.avail_in == 0 && !feed()) return std::nullopt;
      stream_.next_out = static_cast<Bytef*>(to) + done;
      const auto room = static_cast<uInt>(std::min<std::size_t>(size - done, UINT_MAX));
      stream_.avail_out = room;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) return std::nullopt;
      done += room - stream_.avail_out;
      over_ = result == Z_STREAM_END;
    }
    if (!ready_) return std::nullopt;
    return done;
  }

  // Whether that was all: of the stream, and of the file.
  bool ended() {
    Bytef more = 0;
    return take(&more, 1) == 0 && stream_.avail_in == 0 && !feed();
  }

 private:
  bool feed() {
    ssize_t got = 0;
    do {
      got = read(file_, input_.data(), input_.size());
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(got);
    return true;
  }

  int file_;
  bool ready_ = false;
  bool over_ = false;
  z_stream stream_{};
  std::array<Bytef, kChunk> input_{};
};

struct Backend {
  git_odb_backend base{};               // first: libgit2 hands out its address
  std::vector<git_odb_backend*> packs;  // the database's own; asked first, as by git
  std::vector<std::string> directories;
  std::vector<git_oid> noted;  // that were to be written
};

Backend& backendOf(git_odb_backend* base) {
  return *reinterpret_cast<Backend*>(base);
}

int damaged() {
  git_error_set_str(GIT_ERROR_ODB, "a loose object is damaged");
  return GIT_ERROR;
}

// The object's file. Empty with 0: there is none. Never waits for who writes to a FIFO.
sandbox::Fd openObject(const Backend& backend, const git_oid* id, int& error) {
  std::array<char, GIT_OID_HEXSZ + 2> name{};
  git_oid_pathfmt(name.data(), id);
  error = 0;
  for (const std::string& directory : backend.directories) {
    const std::string path = directory + "/" + name.data();
    sandbox::Fd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file && errno == ENOENT) continue;
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) error = damaged();
    return error == 0 ? std::move(file) : sandbox::Fd();
  }
  return {};
}

// Its header, and with `content` all that follows, which is then libgit2's to free.
int readFrom(git_odb_backend* base, int file, Header& header, void** content) {
  const auto inflating = std::make_unique<Inflating>(file);
  std::array<char, kLongestHeader> head{};
  const auto begun = inflating->take(head.data(), head.size());
  const auto found = begun ? headerIn({head.data(), *begun}) : std::nullopt;
  if (!found || *begun - found->length > found->size) return damaged();
  header = *found;
  if (content == nullptr) return 0;
  if (header.size == SIZE_MAX) return damaged();
  auto* const body = static_cast<char*>(git_odb_backend_data_alloc(base, header.size + 1));
  if (body == nullptr) return GIT_ERROR;  // it has said that there is no memory
  const std::size_t have = *begun - header.length;
  std::memcpy(body, head.data() + header.length, have);
  const std::size_t rest = header.size - have;
  if (inflating->take(body + have, rest) != rest || !inflating->ended()) {
    git_odb_backend_data_free(base, body);
    return damaged();
  }
  body[header.size] = '\0';
  *content = body;
  return 0;
}

// An object that is in a pack is read from there, whatever lies beside it under its name: by `inPack` of each
// pack's backend. Only what no pack has, or only a damaged one, is read from its own file, by `inFile`.
template <typename InPack, typename InFile>
int readAny(const Backend& backend, const git_oid* id, InPack inPack, InFile inFile) {
  int ofPacks = GIT_ENOTFOUND;
  for (git_odb_backend* pack : backend.packs) {
    const int error = inPack(pack);
    if (error == 0) return 0;
    if (error != GIT_ENOTFOUND && error != GIT_PASSTHROUGH) ofPacks = error;
  }
  int error = 0;
  const sandbox::Fd file = openObject(backend, id, error);
  if (error != 0) return error;
  return file ? inFile(file.get()) : ofPacks;
}

int readObject(void** content, std::size_t* size, git_object_t* type, git_odb_backend* base,
               const git_oid* id) {
  return readAny(
      backendOf(base), id, [&](git_odb_backend* pack) { return pack->read(content, size, type, pack, id); },
      [&](int file) {
        Header header;
        const int error = readFrom(base, file, header, content);
        *size = header.size;
        *type = header.type;
        return error;
      });
}

int readHeader(std::size_t* size, git_object_t* type, git_odb_backend* base, const git_oid* id) {
  return readAny(
      backendOf(base), id, [&](git_odb_backend* pack) { return pack->read_header(size, type, pack, id); },
      [&](int file) {
        Header header;
        const int error = readFrom(base, file, header, nullptr);
        *size = header.size;
        *type = header.type;
        return error;
      });
}

// Of the main object database and of its alternates; a pack's backend alone takes packs.
std::vector<git_odb_backend*> packsOf(git_odb* database) {
  std::vector<git_odb_backend*> packs;
  for (std::size_t at = 0; at < git_odb_num_backends(database); ++at) {
    git_odb_backend* each = nullptr;
    must(git_odb_get_backend(&each, database, at));
    if (each->writepack != nullptr) packs.push_back(each);
  }
  return packs;
}

// libgit2 asks of each object that is to be written whether it is there, and then tells the others. Here it
// is not.
int note(git_odb_backend* base, const git_oid* id) {
  backendOf(base).noted.push_back(*id);
  return GIT_ENOTFOUND;
}

Backend& backendIn(git_repository* repository) {
  const Odb database = make<Odb>(git_repository_odb, repository);
  for (std::size_t at = 0; at < git_odb_num_backends(database.get()); ++at) {
    git_odb_backend* each = nullptr;
    must(git_odb_get_backend(&each, database.get(), at));
    if (each->read == readObject) return backendOf(each);
  }
  throw repositoryRefused("no_objects");
}

bool isBefore(const git_oid& a, const git_oid& b) {
  return git_oid_cmp(&a, &b) < 0;
}
bool areSame(const git_oid& a, const git_oid& b) {
  return git_oid_equal(&a, &b) != 0;
}

}  // namespace

void readLooseObjects(git_repository* repository, std::vector<std::string> directories) {
  const Odb database = make<Odb>(git_repository_odb, repository);
  auto backend = std::make_unique<Backend>();
  must(git_odb_init_backend(&backend->base, GIT_ODB_BACKEND_VERSION));
  backend->directories = std::move(directories);
  backend->packs = packsOf(database.get());
  backend->base.read = readObject;
  backend->base.read_header = readHeader;
  backend->base.freshen = note;
  // libgit2 asks every backend for its names.
  backend->base.foreach = [](git_odb_backend*, git_odb_foreach_cb, void*) { return 0; };
  backend->base.free = [](git_odb_backend* base) { delete &backendOf(base); };
  must(git_odb_add_backend(database.get(), &backend->base, kBeforeTheOthers));
  (void)backend.release();
}

ObjectsTogether::ObjectsTogether(git_repository* repository) : repository_(repository) {
  backendIn(repository_).noted.clear();
  git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 0);
}

ObjectsTogether::~ObjectsTogether() {
  git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
}

std::vector<sandbox::Fd> ObjectsTogether::waiting() const {
  constexpr std::size_t kMostOneByOne = 16;  // above it one wait for the whole file system is shorter
  Backend& backend = backendIn(repository_);
  std::vector<git_oid>& ids = backend.noted;
  std::ranges::sort(ids, isBefore);
  ids.erase(std::unique(ids.begin(), ids.end(), areSame), ids.end());
  const std::string& directory = backend.directories.front();
  std::vector<sandbox::Fd> files;
  std::set<std::string> folders;
  if (ids.size() > kMostOneByOne) {
    makeAllDurable(openDirectory(directory).get(), "objects");
    return files;
  }
  for (const git_oid& id : ids) {
    int error = 0;
    files.push_back(openObject(backend, &id, error));
    must(error);
    if (!files.back()) {
      files.pop_back();  // in a pack
      continue;
    }
    folders.insert(directory + "/" + hexOf(id).substr(0, 2));
  }
  if (!files.empty()) folders.insert(directory);  // one of those in it may be new
  for (const std::string& folder : folders) {
    sandbox::Fd open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
    if (open) files.push_back(std::move(open));  // else the object is another database's
  }
  return files;
}

}  // namespace factionos::git
