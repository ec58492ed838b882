// From what a caller asked for to what will be executed: resolved, opened, hashed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sandbox/descriptors.h"
#include "workers/session/denied.h"
#include "workers/session/digest.h"
#include "workers/session/resolve.h"

namespace factionos::session {

enum class Network { kNone, kLoopback, kFull };
enum class Namespaces { kWherePossible, kForbidden };
enum class Interactive { kNo, kYes };

// CommandSpec of session.capnp as plain values. Request-scoped.
struct Request {
  std::vector<std::string> argv;
  std::optional<std::string> shell;
  Network network = Network::kNone;
  std::vector<std::string> programPaths;  // of the session profile: read and execute
  std::vector<std::string> readPaths;     // of the session profile: read
  std::vector<std::string> environment;   // "NAME=value"
  std::string scratch;
  std::uint16_t apiPort = 0;
  Namespaces namespaces = Namespaces::kWherePossible;
};

// Whether anybody but root can change a covered file, or put another in its place.
enum class Changeable { kNo, kYes };

enum class HashedBy { kContent, kState };  // kState: too large to read, see hashState()

// One file that the approval covers. Members in this order: the lease ends before its descriptor closes.
struct CoveredFile {
  std::string label;  // "program", "interpreter", "operand:1"
  sandbox::Fd file;
  DigestBytes digest = {};
  FileState state;
  Place place = Place::kWorkspace;
  std::string directory;  // real path of the directory that it lies in
  std::string operand;    // of an operand: its path relative to the workspace, as argv names it
  Changeable changeable = Changeable::kNo;
  HashedBy hashedBy = HashedBy::kContent;
  ReadLease lease;
};

inline constexpr std::uint64_t kProgramBytes = std::uint64_t{2} << 30;  // above: file_too_large

struct Prepared {
  std::vector<CoveredFile> covered;
  std::size_t executed = 0;  // index of what is given to execveat: the program, or a script's interpreter
  std::vector<std::string> argv;  // as the executed file gets it
  int scriptDescriptor =
      -1;  // named in argv as /proc/self/fd/N and kept open in the command; borrowed; -1: none
  std::optional<std::size_t> scriptOperand;  // index of the operand that an interpreter runs
  std::string program;                       // as session.capnp tells
  std::string label;
  Interactive interactive = Interactive::kNo;
};

// Starts nothing. Denied as Resolver::program() and hashFile() say, and: request_invalid, program_format,
// interpreter_refused.
std::variant<Prepared, Denied> prepare(const Request& request, const Resolver& resolver);

}  // namespace factionos::session
