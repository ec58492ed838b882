// The content of one open file, and what is known of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "sandbox/descriptors.h"
#include "workers/file/denied.h"

namespace factionos::file {

using Sha = std::array<std::uint8_t, 32>;  // BLAKE2b-256

inline constexpr std::uint64_t kLargestChanged = std::uint64_t{64}
                                                 << 20;  // a file that is changed, and so kept
inline constexpr std::uint64_t kLargestHashed = std::uint64_t{256} << 20;
inline constexpr std::size_t kLargestEdited = std::size_t{16} << 20;  // read whole into memory

Sha shaOf(std::string_view content);
// Of the whole file from its start; nothing if it can't be read or is larger than kLargestHashed.
std::optional<Sha> shaOf(int file);

// Whole, at most `most` bytes.
Or<std::string> readAll(int file, std::size_t most);
// At most `length` bytes from `offset` on.
Or<std::string> readSome(int file, std::uint64_t offset, std::size_t length);
bool writeAll(int file, std::string_view content);
// From the start of the one to the end of the other.
bool copyAll(int from, int to);

// Which file this was when it was looked at: another one, or a change of it, shows.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t changedNs = 0;  // ctime, which no caller sets
  std::uint64_t size = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};
Identity identityOf(const struct stat& status);

// Extended attributes of a file, access lists among them; 0 where there are none or nobody tells.
unsigned attributesOf(int file);
// Gives `to` the access list and the user's attributes of `from`, as far as the file system lets it.
void copyAttributes(int from, int to);

}  // namespace factionos::file
