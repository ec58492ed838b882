#include "workers/session/prepare.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/interactive_programs.h"
#include "workers/session/script_operand.h"
#include "workers/session/shebang.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

constexpr std::uint64_t kOperandBytes = std::uint64_t{64} << 20;  // of all operands; above: hashed by state
constexpr std::size_t kOperands = 16;  // a longer list is covered by its first ones
constexpr std::string_view kElf = "\177ELF";

std::string_view fileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string label(std::string_view path) {
  const std::string_view name = fileName(path);
  return isLabel(name) ? std::string(name) : "program";
}

bool isRootsAlone(const struct stat& status) {
  return status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Of the file and of every directory on its real path: who may write one of those may put another file there.
Changeable changeability(const Found& found) {
  struct stat status {};
  if (found.place == Place::kWorkspace || fstat(found.file.get(), &status) != 0 || !isRootsAlone(status))
    return Changeable::kYes;
  for (std::size_t slash = found.path.find('/'); slash != std::string::npos;
       slash = found.path.find('/', slash + 1)) {
    const std::string directory = slash == 0 ? "/" : found.path.substr(0, slash);
    if (lstat(directory.c_str(), &status) != 0 || !isRootsAlone(status)) return Changeable::kYes;
  }
  return Changeable::kNo;
}

std::optional<Denied> cover(Prepared& prepared, std::string name, Found found) {
  std::variant<Hashed, Denied> hashed = hashFile(found.file.get(), kProgramBytes);
  if (const Denied* denied = std::get_if<Denied>(&hashed)) return *denied;
  const Hashed& known = std::get<Hashed>(hashed);
  CoveredFile covered;
  covered.label = std::move(name);
  covered.changeable = changeability(found);
  covered.file = std::move(found.file);
  covered.digest = known.digest;
  covered.state = known.state;
  covered.place = found.place;
  covered.directory = found.path.substr(0, found.path.rfind('/'));
  prepared.covered.push_back(std::move(covered));
  return std::nullopt;
}

// What can't be read whole is covered by its state. Nothing if it can't even be looked at.
std::optional<CoveredFile> coverOperand(sandbox::Fd file, std::uint64_t& left) {
  CoveredFile covered;
  covered.changeable = Changeable::kYes;
  std::variant<Hashed, Denied> hashed = hashFile(file.get(), left);
  if (std::holds_alternative<Denied>(hashed)) {
    struct stat status {};
    if (fstat(file.get(), &status) != 0) return std::nullopt;
    hashed = hashState(status);
    covered.hashedBy = HashedBy::kState;
  } else {
    left -= static_cast<std::uint64_t>(std::get<Hashed>(hashed).state.size);
  }
  covered.digest = std::get<Hashed>(hashed).digest;
  covered.state = std::get<Hashed>(hashed).state;
  covered.file = std::move(file);
  return covered;
}

// Regular files of the workspace that argv names.
std::optional<Denied> coverOperands(Prepared& prepared, std::string_view program,
                                    const std::vector<std::string>& argv, const Resolver& resolver) {
  std::uint64_t left = kOperandBytes;
  std::size_t count = 0;
  for (std::size_t i = 1; i < argv.size() && count < kOperands; ++i) {
    std::variant<sandbox::Fd, Denied> file = resolver.operand(argv[i]);
    if (const Denied* denied = std::get_if<Denied>(&file)) return *denied;
    if (!std::get<sandbox::Fd>(file)) continue;
    std::optional<CoveredFile> covered = coverOperand(std::move(std::get<sandbox::Fd>(file)), left);
    if (!covered) continue;
    covered->operand = resolver.inWorkspace(argv[i]);
    covered->label = "operand:" + std::to_string(++count);
    if (count == 1 && readsAsScript(program, std::span(argv).subspan(1, i - 1)))
      prepared.scriptOperand = prepared.covered.size();
    prepared.covered.push_back(std::move(*covered));
  }
  return std::nullopt;
}

std::string head(int file) {
  std::array<char, kShebangBytes> buffer{};
  const ssize_t got = pread(file, buffer.data(), buffer.size(), 0);
  return {buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

struct Interpreter {
  Found file;
  std::vector<std::string> argv;  // its name and its argument
};

// "#!/usr/bin/env NAME" is what its author means by it, the interpreter NAME: resolved here, by our search
// path, so that the interpreter is covered by the approval and not env alone.
bool isEnv(const Shebang& shebang) {
  return fileName(shebang.interpreter) == "env" && !shebang.argument.empty() &&
         shebang.argument.front() != '-' && shebang.argument.find_first_of("= \t/") == std::string::npos;
}

std::variant<Interpreter, Denied> interpreterOf(const Shebang& shebang, const Resolver& resolver) {
  const bool viaEnv = isEnv(shebang);
  const std::string& name = viaEnv ? shebang.argument : shebang.interpreter;
  if (!viaEnv && name.front() != '/') return Denied{"interpreter_refused", "absolute_path"};
  std::variant<Found, Denied> found = resolver.program(name);
  if (const Denied* denied = std::get_if<Denied>(&found)) {
    return Denied{"interpreter_refused", denied->code};
  }
  Interpreter interpreter{std::move(std::get<Found>(found)), {name}};
  if (!viaEnv && !shebang.argument.empty()) interpreter.argv.push_back(shebang.argument);
  if (!head(interpreter.file.file.get()).starts_with(kElf)) return Denied{"interpreter_refused", "binary"};
  return interpreter;
}

// A script is run by its hashed interpreter. One that others than root could rewrite or replace is handed
// over by the hashed descriptor; one of the system goes by its path, which programs look at to find their own
// parts.
std::optional<Denied> coverInterpreter(Prepared& prepared, const Shebang& shebang,
                                       const std::string& scriptPath, const std::vector<std::string>& argv,
                                       const Resolver& resolver) {
  std::variant<Interpreter, Denied> found = interpreterOf(shebang, resolver);
  if (const Denied* denied = std::get_if<Denied>(&found)) return *denied;
  Interpreter& interpreter = std::get<Interpreter>(found);

  prepared.argv = std::move(interpreter.argv);
  if (const CoveredFile& script = prepared.covered.front(); script.changeable == Changeable::kYes) {
    prepared.scriptDescriptor = script.file.get();
    prepared.argv.push_back("/proc/self/fd/" + std::to_string(script.file.get()));
  } else {
    prepared.argv.push_back(scriptPath);
  }
  prepared.argv.insert(prepared.argv.end(), argv.begin() + 1, argv.end());
  prepared.executed = prepared.covered.size();
  return cover(prepared, "interpreter", std::move(interpreter.file));
}

Interactive interactivity(std::string_view program, const std::vector<std::string>& argv) {
  const InteractiveProgram* const known = findInteractiveProgram(program);
  if (known == nullptr || known->operand == Operand::kContents) return Interactive::kNo;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string_view argument = argv[i];
    if (argument == "-i" || argument == "-s") return Interactive::kYes;
    if (argument.starts_with("-c") || argument.starts_with("-e") || argument.starts_with("-m"))
      return Interactive::kNo;
    if (!argument.starts_with("-"))
      return known->operand == Operand::kData ? Interactive::kYes : Interactive::kNo;
  }
  return Interactive::kYes;
}

bool isValid(const Request& request) {
  constexpr auto hasNul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (request.shell.has_value() == !request.argv.empty()) return false;
  if (request.shell && (request.shell->empty() || hasNul(*request.shell))) return false;
  return std::ranges::none_of(request.argv, hasNul) && std::ranges::none_of(request.environment, hasNul) &&
         std::ranges::none_of(request.programPaths, hasNul) &&
         std::ranges::none_of(request.readPaths, hasNul);
}

}  // namespace

std::variant<Prepared, Denied> prepare(const Request& request, const Resolver& resolver) {
  if (!isValid(request)) return Denied{"request_invalid", "exactly_one_of_argv_and_shell"};
  const std::vector<std::string> argv =
      request.shell ? std::vector<std::string>{"/bin/sh", "-c", *request.shell} : request.argv;

  std::variant<Found, Denied> found = resolver.program(argv.front());
  if (const Denied* denied = std::get_if<Denied>(&found)) return *denied;
  Found& program = std::get<Found>(found);

  Prepared prepared;
  prepared.argv = argv;
  prepared.label = request.shell ? "sh" : label(program.path);
  prepared.program = request.shell ? "sh" : program.place == Place::kWorkspace ? "workspace" : program.path;
  const std::string path = program.path;
  if (std::optional<Denied> denied = cover(prepared, "program", std::move(program))) return *denied;

  const std::string first = head(prepared.covered.front().file.get());
  const FirstLine line = parseShebang(first);
  if (const Shebang* shebang = std::get_if<Shebang>(&line)) {
    if (std::optional<Denied> denied = coverInterpreter(prepared, *shebang, path, argv, resolver))
      return *denied;
  } else if (!first.starts_with(kElf)) {
    return Denied{"program_format", "binary_or_script"};
  }
  if (!request.shell) {
    prepared.interactive = interactivity(fileName(path), argv);
    if (std::optional<Denied> denied = coverOperands(prepared, fileName(path), argv, resolver))
      return *denied;
  }
  return prepared;
}

}  // namespace factionos::session
