#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/audit/anchor.h"
#include "broker/home/config.h"
#include "broker/home/home.h"
#include "protocol/schemas/front.capnp.h"
#include "sandbox/descriptors.h"
#include "sandbox/landlock_audit.h"

namespace factionos::broker {

// A start that can't go on. The text is for the operator's terminal: what is wrong and what to do.
class StartRefused : public std::exception {
 public:
  StartRefused(std::string text, int status) : text_(std::move(text)), status_(status) {}
  explicit StartRefused(const home::Problem& problem) : StartRefused(problem.text(), 1) {}
  const char* what() const noexcept override { return text_.c_str(); }
  int status() const { return status_; }  // 1, or 2 for a usage error

 private:
  std::string text_;
  int status_;
};

// Started as root, becomes `user` for good, its groups included; as anybody else, `user` must be absent or
// the caller itself. Sets HOME, USER and LOGNAME. Throws StartRefused.
void dropPrivileges(const std::optional<std::string>& user);

// The launcher's process and the two descriptors that lead to it.
struct LauncherProcess {
  pid_t pid = -1;
  sandbox::Fd line;
  sandbox::Fd events;  // read end of its event pipe
};

// Starts libexec's launcher, which gets its line, its event pipe, the home's directory and, where it was
// joined, the kernel's records of denials, and nothing else. Before any input is read and before any thread
// exists. Throws StartRefused.
LauncherProcess startLauncher(const home::Home& home, sandbox::LandlockAudit audit);

struct BoundListener {
  sandbox::Fd socket;
  schema::Listener::Kind kind = schema::Listener::Kind::TCP;
};

struct Listeners {
  std::vector<BoundListener> front;
  sandbox::Fd operatorSocket;
  std::uint16_t port = 0;
};

// Opens the anchor that the configuration names; nothing if it names none. Throws StartRefused, also if it
// lies in the home, which it is to outlive.
std::optional<audit::Anchor> openAnchor(const home::Home& home, const home::Config& config);

// Binds what the configuration names. A socket file that an earlier broker of this home left is replaced; the
// home's lock says that it is left. Throws StartRefused.
Listeners bindListeners(const home::Home& home, const home::Config& config);

}  // namespace factionos::broker
