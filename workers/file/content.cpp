#include "workers/file/content.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <sodium.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace factionos::file {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;
constexpr std::size_t kLongestAttributes = std::size_t{64} << 10;  // the kernel's own limit for the names

std::vector<std::string> attributeNames(int file) {
  std::string names(kLongestAttributes, '\0');
  const ssize_t size = flistxattr(file, names.data(), names.size());
  std::vector<std::string> result;
  std::string_view rest(names.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    result.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

bool isCarried(std::string_view name) {
  return name == "system.posix_acl_access" || name.starts_with("user.");
}

// Calls `use` with each block; false if the file can't be read or `use` said so.
template <typename Use>
bool eachBlock(int file, Use use) {
  std::vector<char> block(kBlock);
  off_t offset = 0;
  while (true) {
    const ssize_t got = pread(file, block.data(), block.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    if (!use(std::string_view(block.data(), static_cast<std::size_t>(got)))) return false;
    offset += got;
  }
}

}  // namespace

Sha shaOf(std::string_view content) {
  Sha sha{};
  crypto_generichash(sha.data(), sha.size(), reinterpret_cast<const unsigned char*>(content.data()),
                     content.size(), nullptr, 0);
  return sha;
}

std::optional<Sha> shaOf(int file) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, Sha{}.size());
  std::uint64_t total = 0;
  const bool whole = eachBlock(file, [&](std::string_view block) {
    total += block.size();  // a file that grows under the reader has an end all the same
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(block.data()), block.size());
    return total <= kLargestHashed;
  });
  if (!whole) return std::nullopt;
  Sha sha{};
  crypto_generichash_final(&state, sha.data(), sha.size());
  return sha;
}

Or<std::string> readAll(int file, std::size_t most) {
  std::string content;
  const bool whole = eachBlock(file, [&](std::string_view block) {
    content.append(block);
    return content.size() <= most;
  });
  if (whole) return content;
  return content.size() > most ? denials::kTooLarge : denialOf(errno);
}

Or<std::string> readSome(int file, std::uint64_t offset, std::size_t length) {
  std::string content(length, '\0');
  std::size_t have = 0;
  while (have < length) {
    const ssize_t got = pread(file, content.data() + have, length - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return denialOf(errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  content.resize(have);
  return content;
}

bool writeAll(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = write(file, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool copyAll(int from, int to) {
  return eachBlock(from, [to](std::string_view block) { return writeAll(to, block); });
}

Identity identityOf(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .changedNs = std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec,
          .size = static_cast<std::uint64_t>(status.st_size)};
}

unsigned attributesOf(int file) {
  return static_cast<unsigned>(std::min<std::size_t>(attributeNames(file).size(), 0xffff));
}

void copyAttributes(int from, int to) {
  for (const std::string& name : attributeNames(from)) {
    if (!isCarried(name)) continue;
    std::string value(kLongestAttributes, '\0');
    const ssize_t size = fgetxattr(from, name.c_str(), value.data(), value.size());
    // Where the file system refuses one the reply's count shows that it is gone.
    if (size >= 0 && fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(size), 0) != 0)
      continue;
  }
}

}  // namespace factionos::file
