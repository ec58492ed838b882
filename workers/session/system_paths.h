// The paths of the system that a command sees, as data.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace factionos::session {

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

// Where a bare program name is looked up, in this order. PATH is this, whatever the caller's was.
inline constexpr std::string_view kSearchPath = "/usr/local/bin:/usr/bin:/bin";

// Whether `path` is `directory` or lies below it. Both absolute, without "..", "." and doubled or trailing
// slashes.
bool isWithin(std::string_view path, std::string_view directory);

// Whether programs may be started from the real path `path`.
bool isSystemProgram(std::string_view path);

// Whether `text` is a label as common.capnp has it.
bool isLabel(std::string_view text);

}  // namespace factionos::session
