#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "broker/home/home.h"
#include "broker/home/result.h"

namespace factionos::cli {

// Exit statuses of every command.
enum Exit : int {
  kDone = 0,
  kFailed = 1,  // the action failed (for `run`: the command's own status instead)
  kUsage = 2,
  kRefused = 3,      // by policy, approval or scope
  kUnreachable = 4,  // no broker answers
  kNotEnforced = 5,
};

// Ends a command: one line for the person, a status for the script.
class Stop : public std::runtime_error {
 public:
  Stop(Exit status, const std::string& line) : std::runtime_error(line), status_(status) {}
  Exit status() const { return status_; }

 private:
  Exit status_;
};

enum class Format { kText, kJson };

// What is common to all commands.
struct Context {
  std::optional<std::string> homeFlag;
  Format format = Format::kText;
  bool json() const { return format == Format::kJson; }

  std::string homePath() const;
  home::Home home() const;  // opened and checked; Stop with the mending command
  // Where api.sock and operator.sock lie: the home's run/, else /run/factionos.
  std::string socketPath(const char* name) const;
};

// Stop unless the result holds a value.
template <typename T>
T must(home::Result<T> result, Exit status = kFailed) {
  if (!result.ok()) throw Stop(status, result.problem().text());
  return std::move(result).value();
}
inline void must(home::Status status, Exit exit = kFailed) {
  if (!status.ok()) throw Stop(exit, status.problem().text());
}

// "yes" on the controlling terminal. False for anything else; Stop without a terminal.
bool confirmOnTerminal(const std::string& question);

}  // namespace factionos::cli
