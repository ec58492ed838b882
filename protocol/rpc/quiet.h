// KJ's own diagnostics, made fit for a sandboxed process.
#pragma once

#include <atomic>
#include <cstdint>

#include <kj/exception.h>

namespace factionos::rpc {

/// While it lives, on the thread that made it:
///  - exceptions carry no stack trace. KJ would otherwise print one by running a shell (`addr2line`) when an
///  exception
///    is turned into text, which ends a process whose filter forbids fork;
///  - KJ's log lines are counted and dropped. They go to standard error otherwise and quote exception text
///  that a peer
///    chose.
/// KJ keeps these objects on a per-thread stack: destroy in the reverse order of creation.
class QuietKj final : public kj::ExceptionCallback {
 public:
  StackTraceMode stackTraceMode() override { return StackTraceMode::NONE; }
  void logMessage(kj::LogSeverity severity, const char* file, int line, int contextDepth,
                  kj::String&& text) override;

  /// Log lines of severity WARNING and above that were dropped.
  [[nodiscard]] uint64_t dropped() const { return dropped_; }

 private:
  uint64_t dropped_ = 0;
};

}  // namespace factionos::rpc
