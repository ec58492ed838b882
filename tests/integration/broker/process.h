#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace factionos::test {

struct Finished {
  int status = -1;  // exit status, or 256 + signal
  std::string out;
  std::string err;
};

// A child with its standard output and error in files, so that nothing blocks; standard input is `input`.
class Process {
 public:
  Process(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
          const std::string& folder, const std::string& input = {});
  ~Process();  // SIGKILL if it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  std::string out() const;
  std::string err() const;
  // Until `out` or `err` holds a line with `text`, at most 20 s; empty string: never came.
  std::string waitForLine(const std::string& text);
  Finished finish(int timeoutSeconds = 30);
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::string outFile_;
  std::string errFile_;
};

// Runs to its end.
Finished runProcess(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                    const std::string& folder, const std::string& input = {});

// Polls until `condition` holds, every few milliseconds, at most `seconds`. No test sleeps for a fixed time.
template <typename Condition>
bool eventually(Condition condition, int seconds = 20);

bool pollPause();  // 5 ms

// Direct and indirect children of `pid` that live (no zombies).
std::vector<pid_t> descendants(pid_t pid);
// As execve takes them; they point into `texts`.
std::vector<char*> pointers(const std::vector<std::string>& texts);
std::string readFile(const std::string& path);
void writeFile(const std::string& path, const std::string& text);

}  // namespace factionos::test

#include <chrono>

namespace factionos::test {

template <typename Condition>
bool eventually(Condition condition, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    pollPause();
  }
  return true;
}

}  // namespace factionos::test
