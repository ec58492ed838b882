#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "broker/home/mode.h"
#include "broker/home/result.h"
#include "sandbox/descriptors.h"

namespace factionos::home {

// What a home is looked up from, in the order of the members: the first that is set wins.
struct HomeLookup {
  std::optional<std::string> flag;           // --home DIR
  std::optional<std::string> factionosHome;  // $FACTIONOS_HOME
  std::optional<std::string> userHome;       // $HOME, else the passwd entry's; ".factionos" is appended

  static HomeLookup fromProcess(std::optional<std::string> flag);
};

// The absolute path of the home (lexically normal, nothing resolved, nothing opened).
Result<std::string> locateHome(const HomeLookup& lookup);

enum class Folder : std::uint8_t { kTop, kState, kRun, kSpool, kTokens };
const char* label(Folder folder);  // "", "state/", "run/", "spool/", "tokens/"

enum class WriteMode : std::uint8_t {
  kCreateNew,  // O_EXCL: fails with kExists
  kReplace,    // temporary file, fsync, rename, fsync of the directory
};

// One broker's hold on a home; held as long as this object, or a duplicate of its descriptors in a child,
// lives. Two locks: the one on run/broker.lock can be asked for by others, the one on run/ itself can't be
// removed.
class HomeLock {
 public:
  HomeLock(sandbox::Fd file, sandbox::Fd folder) : file_(std::move(file)), folder_(std::move(folder)) {}
  // To be closed in every child: an inherited copy keeps the home held.
  std::array<int, 2> descriptors() const { return {file_.get(), folder_.get()}; }

 private:
  sandbox::Fd file_, folder_;
};

struct LockState {
  enum class Holder : std::uint8_t { kNobody, kBroker } holder = Holder::kNobody;
  pid_t pid = 0;  // as the broker wrote it; 0 when unknown. A hint for messages, never something to signal.
};

// The folder that holds all that FactionOS keeps. Entries are reached through directory descriptors that were
// opened and checked once, so that no later exchange of a path redirects a read or a write. The home and all
// that lies in it must belong to this process's effective uid, directories 0700, files 0600, no symbolic
// link.
class Home {
 public:
  // Makes the home and its four folders where they are missing. An existing home must pass the same checks.
  static Result<Home> create(const std::string& path);

  // Opens and checks. A home that is not there is kNotFound with the `init` command as its remedy.
  static Result<Home> open(const std::string& path);

  // Every complaint about what lies in the home, one per entry, in a stable order; empty when all is well.
  // `open` fails with the first of them; `doctor` shows all. Looks one level deep into each folder.
  static std::vector<Problem> check(const std::string& path);

  const std::string& path() const {
    return path_;
  }                             // absolute; for bind(2), and for the operator's own terminal
  int fd(Folder folder) const;  // borrowed directory descriptor

  // `name` is one path component. Files are opened with O_NOFOLLOW and checked (regular, owner, mode, one
  // link).
  Result<sandbox::Fd> openFile(Folder folder, std::string_view name, int flags) const;
  Result<std::string> readFile(Folder folder, std::string_view name, std::size_t maxBytes) const;
  Status writeFile(Folder folder, std::string_view name, std::string_view contents, WriteMode mode) const;
  Status removeFile(Folder folder, std::string_view name) const;
  bool exists(Folder folder, std::string_view name) const;

  // Closes the home to other users again, by its own descriptors: a process of this uid may have changed its
  // modes.
  Status tighten() const;

  // Held for a read-modify-write of config.toml or policy.toml; blocks until other editors are done.
  Result<sandbox::Fd> lockForEditing() const;

  // For the broker: kBusy when another broker holds this home. Writes this process's pid into the lock file.
  Result<HomeLock> lock() const;
  // For the offline commands of the CLI: asks without ever taking the lock.
  Result<LockState> lockState() const;

 private:
  explicit Home(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::array<sandbox::Fd, 5> folders_;  // by Folder
};

// Where the sockets lie.
struct SocketPlace {
  sandbox::Fd directory;                 // checked: owner, mode, no symbolic link
  std::string path;                      // of that directory
  mode_t mode = 0600;                    // of each socket
  gid_t group = static_cast<gid_t>(-1);  // -1: leave as it is
};
inline constexpr const char* kSystemSocketDirectory = "/run/factionos";
inline constexpr const char* kApiSocketName = "api.sock";
inline constexpr const char* kOperatorSocketName = "operator.sock";

// User mode: the home's run/, 0600. System mode: `systemDirectory` (made by the service manager), 0660,
// `groupName`.
Result<SocketPlace> socketPlace(const Home& home, Mode mode, const std::string& groupName,
                                const std::string& systemDirectory = kSystemSocketDirectory);

}  // namespace factionos::home
