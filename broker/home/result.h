#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace factionos::home {

enum class ProblemCode : std::uint8_t {
  kNotFound,  // an entry of ours, or a path that the operator gave, does not exist
  kExists,    // it exists and must not
  kUnsafe,    // owner, mode, kind or symbolic link: not ours to trust
  kInvalid,   // text that does not follow its grammar or schema
  kRefused,   // well-formed, and forbidden by a rule
  kBusy,      // another process holds it
  kIo,        // the system failed us (full disk, no memory, ...)
};

// A stable label for machines: "not_found", "exists", "unsafe", "invalid", "refused", "busy", "io".
const char* label(ProblemCode code);

// What went wrong, told to an operator. Names entries and fields of ours; never holds a value that somebody
// wrote (a key, a path, a passphrase), so that it may be printed and logged as it is.
struct Problem {
  ProblemCode code = ProblemCode::kIo;
  std::string message;  // one line, no full stop
  std::string remedy;   // the next step: a command or an edit; empty when there is none

  std::string text() const;  // "message; remedy"
};

// A value or the reason why there is none. Reading the wrong side throws std::bad_variant_access: a bug.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Problem problem) : content_(std::in_place_index<1>, std::move(problem)) {}

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(content_); }
  const T& value() const& { return std::get<0>(content_); }
  T&& value() && { return std::get<0>(std::move(content_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Problem& problem() const { return std::get<1>(content_); }

 private:
  std::variant<T, Problem> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Problem problem) : problem_(std::move(problem)) {}

  bool ok() const { return !problem_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Problem& problem() const { return problem_.value(); }

 private:
  std::optional<Problem> problem_;
};

using Status = Result<void>;

}  // namespace factionos::home
