// The paths of the system that every command may see, as data. The one list: commands are granted it, and the
// broker refuses a home that lies in it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <sys/stat.h>

namespace factionos::sandbox {

enum class Programs { kNo, kYes };  // whether a program may be started from below

struct SystemDirectory {
  std::string_view path;
  Programs programs;
  std::string_view reason;
};

// Read and execute. What does not exist on a host is left out.
std::span<const SystemDirectory> systemDirectories();

struct SystemFile {
  std::string_view path;
  std::string_view reason;
};

// Device nodes: read, write, ioctl.
std::span<const SystemFile> devices();

// Single trees that tools read besides; never executed.
std::span<const SystemFile> systemFacts();

// Read by the resolver of libc where the network is the machine's own; symbolic links among them lead into
// /run.
std::span<const SystemFile> nameResolution();

// The listed tree (of systemDirectories() and systemFacts()) that `directory` is, by device and inode, so
// that neither a link nor another mount of it deceives. Empty if it is none.
std::optional<std::string_view> listedTree(const struct stat& directory);

// Whether `path` is `directory` or lies below it. Both absolute, without "..", "." and doubled or trailing
// slashes.
bool isWithin(std::string_view path, std::string_view directory);

}  // namespace factionos::sandbox
