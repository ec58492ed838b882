// Why the worker does not do what it was asked: fixed names, which the broker translates.
#pragma once

#include <string_view>
#include <variant>

namespace factionos::file {

struct Denied {
  std::string_view code;
  std::string_view rule;
};

template <typename T>
using Or = std::variant<T, Denied>;

template <typename T>
const Denied* deniedIn(const Or<T>& value) {
  return std::get_if<Denied>(&value);
}

namespace denials {
inline constexpr Denied kBadPath{"path_refused", "relative_path"};
inline constexpr Denied kOutside{"path_outside", "beneath_workspace"};
inline constexpr Denied kSymlink{"path_outside", "no_symlink"};
inline constexpr Denied kProtected{"path_protected", "protected_paths"};
inline constexpr Denied kNotFound{"not_found", "path"};
inline constexpr Denied kNotFile{"not_regular", "regular_file"};
inline constexpr Denied kNotDirectory{"not_directory", "directory"};
inline constexpr Denied kNoAccess{"no_access", "file_mode"};
inline constexpr Denied kTooLarge{"too_large", "largest_file"};
inline constexpr Denied kChanged{"changed", "expected_state"};
inline constexpr Denied kNoMatch{"no_match", "old_text_once"};
inline constexpr Denied kManyMatches{"many_matches", "old_text_once"};
inline constexpr Denied kUnchanged{"unchanged", "a_change"};
inline constexpr Denied kNoSpace{"no_space", "file_system"};
inline constexpr Denied kFailed{"io_failed", "file_system"};
// Somebody made a file of the temporary name, again and again.
inline constexpr Denied kCrowded{"crowded", "temporary_name"};
inline constexpr Denied kUnsure{"unsure", "durable"};  // it has happened, but may not outlive a power failure
inline constexpr Denied kNotKept{"not_kept", "kept_copies"};
inline constexpr Denied kTwice{"applied_before", "once_for_an_action"};
inline constexpr Denied kBadRequest{"request_refused", "request"};
}  // namespace denials

// What an errno of a call on a path means.
Denied denialOf(int error);

}  // namespace factionos::file
