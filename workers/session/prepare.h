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
  std::vector<std::string> readPaths;
  std::vector<std::string> environment;  // "NAME=value"
  std::string scratch;
  std::uint16_t apiPort = 0;
  Namespaces namespaces = Namespaces::kWherePossible;
};

// One file that the approval covers. Members in this order: the lease ends before its descriptor closes.
struct CoveredFile {
  std::string label;  // "program", "interpreter", "operand:1"
  sandbox::Fd file;
  DigestBytes digest = {};
  FileState state;
  ReadLease lease;
};

struct Prepared {
  std::vector<CoveredFile> covered;
  std::size_t executed = 0;  // index of what is given to execveat: the program, or a script's interpreter
  std::vector<std::string> argv;  // as the executed file gets it
  int scriptDescriptor =
      -1;               // named in argv as /proc/self/fd/N and kept open in the command; borrowed; -1: none
  std::string program;  // as session.capnp tells
  std::string label;
  Interactive interactive = Interactive::kNo;
};

// Starts nothing. Denied as Resolver::program() and hashFile() say, and: request_invalid, program_format,
// interpreter_refused, file_busy (somebody has it open for writing).
std::variant<Prepared, Denied> prepare(const Request& request, const Resolver& resolver);

// Whether every covered file still is what was hashed. To be asked immediately before the start.
bool isUnchanged(const Prepared& prepared);

}  // namespace factionos::session
