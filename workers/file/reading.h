// What only looks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workers/file/change.h"

namespace factionos::file {

inline constexpr std::size_t kMostEntries = 1000;
// What a request may ask for, and what is masked with it.
inline constexpr std::size_t kLongestRead = (std::size_t{1} << 20) + (std::size_t{128} << 10);

struct Entry {
  std::string name;
  FileState state;  // without sha and attributes
};
struct Listing {
  std::vector<Entry> entries;  // by name, in byte order
  bool more = false;
};
// Of the directory at `path` (empty: the workspace), names greater than `after`. Our own folder is left out.
Or<Listing> listDirectory(int workspace, std::string_view path, std::string_view after, std::size_t limit);

// What is at `path`; kind absent where there is nothing. A link at its end is not followed.
Or<FileState> lookAt(int workspace, std::string_view path);

struct Piece {
  std::string content;
  FileState state;  // of the whole file, without sha
};
Or<Piece> readPiece(int workspace, std::string_view path, std::uint64_t offset, std::size_t length);

}  // namespace factionos::file
