#include "workers/git/filters.h"

#include <array>
#include <charconv>
#include <optional>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/git/files.h"
#include "workers/git/handles.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostPointerBytes = 1024;

struct Pointer {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  std::uint64_t size = 0;
};

std::string_view lineAfter(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find('\n'));
}

std::optional<Pointer> parsePointer(std::string_view text) {
  if (text.size() > kMostPointerBytes || !text.starts_with("version ")) return std::nullopt;
  const std::string_view hex = lineAfter(text, "\noid sha256:");
  const std::string_view size = lineAfter(text, "\nsize ");
  Pointer pointer;
  std::size_t have = 0;
  const int decoded = sodium_hex2bin(pointer.digest.data(), pointer.digest.size(), hex.data(), hex.size(),
                                     nullptr, &have, nullptr);
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), pointer.size);
  const bool whole = decoded == 0 && have == pointer.digest.size() && error == std::errc() && !size.empty();
  return whole ? std::optional(pointer) : std::nullopt;
}

bool holds(const Pointer& pointer, int workTree, const std::string& path) {
  const sandbox::Fd file = openBeneath(workTree, path, O_RDONLY);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (static_cast<std::uint64_t>(status.st_size) != pointer.size) return false;
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  std::array<unsigned char, 65536> buffer;
  ssize_t got = 0;
  while ((got = read(file.get(), buffer.data(), buffer.size())) > 0)
    crypto_hash_sha256_update(&state, buffer.data(), static_cast<unsigned long long>(got));
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256_final(&state, digest.data());
  return got == 0 && digest == pointer.digest;
}

}  // namespace

FilterKind filterOf(git_repository* repository, const std::string& path) {
  constexpr std::array<const char*, 2> kNames = {"filter", "working-tree-encoding"};
  std::array<const char*, 2> values{};
  std::array<const char*, 2> names = kNames;
  must(git_attr_get_many(values.data(), repository, GIT_ATTR_CHECK_FILE_THEN_INDEX, path.c_str(),
                         names.size(), names.data()));
  if (git_attr_value(values[1]) == GIT_ATTR_VALUE_STRING) return FilterKind::kProgram;
  if (git_attr_value(values[0]) != GIT_ATTR_VALUE_STRING) return FilterKind::kNone;
  return std::string_view(values[0]) == "lfs" ? FilterKind::kPointer : FilterKind::kProgram;
}

Judgement judgeFiltered(git_repository* repository, FilterKind kind, const git_oid& blob, int workTree,
                        const std::string& path) {
  if (kind == FilterKind::kNone) return Judgement::kChanged;
  const Blob found = find<Blob>(git_blob_lookup, repository, &blob);
  if (kind == FilterKind::kProgram || !found) return Judgement::kUnknown;
  const std::optional<Pointer> pointer =
      parsePointer({static_cast<const char*>(git_blob_rawcontent(found.get())),
                    static_cast<std::size_t>(git_blob_rawsize(found.get()))});
  if (!pointer) return Judgement::kUnknown;
  return holds(*pointer, workTree, path) ? Judgement::kSame : Judgement::kChanged;
}

}  // namespace factionos::git
