// Why the worker says no: thrown within it, and answered as a value at its door.
#pragma once

#include <string>
#include <string_view>

namespace factionos::git {

// `code` and `rule` are names of ours, `target` a label or a number; nothing of a repository's text.
struct Refusal {
  std::string_view code;
  std::string_view rule;
  std::string target = {};
};

// What makes a repository one that is not worked in.
inline Refusal repositoryRefused(std::string_view rule, std::string target = {}) {
  return {"repository_refused", rule, std::move(target)};
}

}  // namespace factionos::git
