// The front's own executable, started as the launcher does: the line on 3, the event pipe on 4, nothing else.
#pragma once

#include <optional>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/descriptors.h"
#include "sandbox/events.h"

namespace factionos::front::test {

struct ExitStatus {
  int code = -1;  // -1 if a signal ended it
  int signal = 0;
};

class FrontProcess {
 public:
  // As an ordinary user, also when the tests run as root. `descriptorLimit` lowers RLIMIT_NOFILE.
  explicit FrontProcess(std::optional<rlim_t> descriptorLimit = std::nullopt);
  ~FrontProcess();
  FrontProcess(const FrontProcess&) = delete;
  FrontProcess& operator=(const FrontProcess&) = delete;

  // The broker's end of the line, once.
  sandbox::Fd takeLine() { return std::move(line_); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Resident memory in KiB.
  [[nodiscard]] long residentKiB() const;
  // Waits for its end, at most 20 s.
  ExitStatus wait();
  // What it wrote on 4 so far.
  std::vector<sandbox::Event> events();

 private:
  sandbox::Fd line_;
  sandbox::Fd eventsOut_;
  pid_t pid_ = -1;
  bool reaped_ = false;
};

}  // namespace factionos::front::test
