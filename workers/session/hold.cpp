#include "workers/session/hold.h"

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/session/private_copy.h"

namespace factionos::session {
namespace {

bool isCurrent(const CoveredFile& covered) {
  struct stat status {};
  return fstat(covered.file.get(), &status) == 0 && FileState::of(status) == covered.state;
}

bool hasDigest(int file, const CoveredFile& covered) {
  const std::variant<Hashed, Denied> hashed = hashFile(file, kProgramBytes);
  return std::holds_alternative<Hashed>(hashed) && std::get<Hashed>(hashed).digest == covered.digest;
}

// The copy takes the number of the original, which argv may name.
std::optional<Denied> replaceByCopy(CoveredFile& covered) {
  std::variant<sandbox::Fd, Denied> copy = privateCopy(covered.file.get(), covered.directory, kProgramBytes);
  if (const Denied* denied = std::get_if<Denied>(&copy)) return *denied;
  struct stat status {};
  const int file = std::get<sandbox::Fd>(copy).get();
  if (fstat(file, &status) != 0 || dup3(file, covered.file.get(), O_CLOEXEC) < 0)
    return Denied{"sandbox_unavailable", "setup", "program_copy"};
  covered.state = FileState::of(status);
  return std::nullopt;
}

// Files of the workspace alone: what the profile's directories hold is the operator's choice, and often finds
// its parts by its own path.
bool needsCopy(const Prepared& prepared, std::size_t index) {
  const CoveredFile& covered = prepared.covered[index];
  const bool byDescriptor = index == prepared.executed || covered.file.get() == prepared.scriptDescriptor;
  return byDescriptor && covered.place == Place::kWorkspace &&
         covered.lease.state() == ReadLease::State::kUnsupported;
}

std::vector<FileIdentity> directoriesOf(int workspace, const std::string& path) {
  std::vector<FileIdentity> found;
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    struct stat status {};
    if (slash > 0 && fstatat(workspace, path.substr(0, slash).c_str(), &status, 0) == 0)
      found.push_back(FileIdentity::of(status));
  }
  return found;
}

}  // namespace

std::optional<Denied> hold(Prepared& prepared) {
  for (std::size_t i = 0; i < prepared.covered.size(); ++i) {
    CoveredFile& covered = prepared.covered[i];
    const Denied drift{"approval_drift", "digest_changed", covered.label};
    if (covered.changeable == Changeable::kYes) covered.lease = ReadLease(covered.file.get());
    if (covered.lease.state() == ReadLease::State::kOpenForWriting || !isCurrent(covered)) return drift;
    if (covered.changeable == Changeable::kNo || covered.hashedBy == HashedBy::kState) continue;
    if (needsCopy(prepared, i)) {
      if (std::optional<Denied> denied = replaceByCopy(covered)) return denied;
    }
    // A write in the same tick of the clock as the last one leaves the same change time: only the content
    // tells.
    if (!hasDigest(covered.file.get(), covered)) return drift;
  }
  return std::nullopt;
}

std::vector<NamedFile> namedFiles(int workspace, const Prepared& prepared) {
  std::vector<NamedFile> named;
  for (const CoveredFile& covered : prepared.covered) {
    if (!covered.operand.empty())
      named.push_back({covered.operand, covered.state, directoriesOf(workspace, covered.operand)});
  }
  return named;
}

bool isUnchanged(int workspace, const NamedFile& file) {
  struct stat status {};
  return fstatat(workspace, file.path.c_str(), &status, 0) == 0 && FileState::of(status) == file.state &&
         directoriesOf(workspace, file.path) == file.directories;
}

}  // namespace factionos::session
