// Executing: the file, and whatever the kernel starts in its place.
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/explain/check.h"
#include "sandbox/explain/explain.h"

namespace factionos::sandbox::explain {
namespace {

constexpr int kMostScripts = 4;           // interpreters that are scripts themselves; the kernel's bound is 5
constexpr std::size_t kHeadBytes = 256;   // BINPRM_BUF_SIZE
constexpr std::size_t kMostHeaders = 64;  // of a program; usual are a dozen
constexpr std::size_t kMostLoaderBytes = 4096;

std::string readAt(int file, off_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = pread(file, bytes.data(), size, offset);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// "#! /bin/sh -e" names "/bin/sh".
std::string ofScript(std::string_view head) {
  head.remove_prefix(2);
  head = head.substr(0, head.find('\n'));
  const std::size_t first = head.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  head.remove_prefix(first);
  return std::string(head.substr(0, head.find_first_of(std::string_view(" \t\0", 3))));
}

// PT_INTERP; empty for a static program.
std::string loaderOf(int file, const std::string& head) {
  Elf64_Ehdr header;
  if (head.size() < sizeof header) return {};
  std::memcpy(&header, head.data(), sizeof header);
  for (std::size_t i = 0; i < std::min<std::size_t>(header.e_phnum, kMostHeaders); ++i) {
    Elf64_Phdr segment;
    const std::string bytes =
        readAt(file, static_cast<off_t>(header.e_phoff + i * sizeof segment), sizeof segment);
    if (bytes.size() < sizeof segment) return {};
    std::memcpy(&segment, bytes.data(), sizeof segment);
    if (segment.p_type != PT_INTERP || segment.p_filesz > kMostLoaderBytes) continue;
    return {readAt(file, static_cast<off_t>(segment.p_offset), segment.p_filesz).c_str()};
  }
  return {};
}

}  // namespace

std::vector<Explainer::Check> Explainer::executing(const Place& place, int depth) const {
  std::vector<Check> checks;
  if (!S_ISREG(place.mode)) checks.push_back(Check::ordinary(EACCES, "it is not a regular file"));
  checks.push_back(asMounted(Operation::kExecute, place));
  if (!place.machine.empty() && faccessat(AT_FDCWD, place.machine.c_str(), X_OK, AT_EACCESS) != 0)
    checks.push_back(Check::ordinary(EACCES, "file modes"));
  checks.push_back(rights(place.path, access::kReadFile | access::kExecute));
  if (S_ISREG(place.mode)) {
    for (Check& check : interpreting(place, depth)) checks.push_back(std::move(check));
  }
  return checks;
}

std::vector<Explainer::Check> Explainer::interpreting(const Place& place, int depth) const {
  const Fd file(open(place.machine.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return {};  // executable and unreadable: nobody can look
  const std::string head = readAt(file.get(), 0, kHeadBytes);
  const bool script = head.starts_with("#!");
  if (!script && !head.starts_with(ELFMAG)) return {Check::ordinary(ENOEXEC, "it is no program")};
  const std::string other = script ? ofScript(head) : loaderOf(file.get(), head);
  if (other.empty()) {
    if (script) return {Check::ordinary(ENOEXEC, "it is a script that names no interpreter")};
    return {};
  }
  if (depth > kMostScripts) return {Check::ordinary(ELOOP, "scripts that interpret scripts")};
  const Place started = view_.walk(other);
  std::vector<Check> checks = {walked(started)};
  if (started.error == 0) {
    for (Check& check : executing(started, depth + 1)) checks.push_back(std::move(check));
  }
  for (Check& check : checks) {
    if (!check.passes) check.rule = (script ? "its interpreter: " : "its loader: ") + check.rule;
  }
  // Who grants the program itself is the answer; of the other only a refusal counts.
  std::erase_if(checks, [](const Check& check) { return check.passes; });
  return checks;
}

}  // namespace factionos::sandbox::explain
