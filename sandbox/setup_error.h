// Why a process could not be put into its sandbox. Every one of these is fatal to the process that meets it.
#pragma once

#include <exception>
#include <string_view>

namespace factionos::sandbox {

// The steps of enter(), in their order. The numbers travel in events (events.h): append, never renumber.
enum class Step : unsigned {
  kIdentity = 1,  // who we are: never root, one thread
  kDescriptors = 2,
  kLimits = 3,
  kUserNamespace = 4,
  kNamespaces = 5,
  kMounts = 6,
  kCapabilities = 7,
  kNoNewPrivileges = 8,
  kDumpable = 9,
  kLandlock = 10,
  kSeccomp = 11,
  kSelfCheck = 12,
  kTree = 13,   // tree.h, after the sandbox stands
  kProbe = 14,  // support.h
};

inline constexpr unsigned kLastStep = 14;

// A lower-case label, such as "landlock", for events and diagnostics.
std::string_view label(Step step);

// Fixed text and numbers only: never a path, a name or a value of a user.
class SetupError : public std::exception {
 public:
  // `reason` must be a string literal in label form ("landlock_missing"); `error` an errno or 0.
  SetupError(Step step, int error, const char* reason) noexcept
      : step_(step), error_(error), reason_(reason) {}

  [[nodiscard]] Step step() const noexcept { return step_; }
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] std::string_view reason() const noexcept { return reason_; }
  [[nodiscard]] const char* what() const noexcept override { return reason_; }

 private:
  Step step_;
  int error_;
  const char* reason_;
};

// Throws SetupError with the present errno if `result` is negative, else hands it back:
//   checked(Step::kLimits, setrlimit(...), "limit_refused");
template <typename Result>
Result checked(Step step, Result result, const char* reason);

[[noreturn]] void failWithErrno(Step step, const char* reason);

template <typename Result>
Result checked(Step step, Result result, const char* reason) {
  if (result < 0) failWithErrno(step, reason);
  return result;
}

}  // namespace factionos::sandbox
