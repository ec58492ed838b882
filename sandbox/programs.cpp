#include "sandbox/programs.h"

#include <algorithm>

namespace factionos::sandbox {
namespace {

std::span<const BuiltProgram> builtIn;

std::uint64_t wordOf(const Verdict& verdict) {
  return (static_cast<std::uint64_t>(verdict.kind) << 32) | static_cast<std::uint32_t>(verdict.error);
}

}  // namespace

RulesForm rulesForm(const SeccompPolicy& policy) {
  RulesForm form = {wordOf(policy.unlisted), wordOf(policy.foreignEntry)};
  form.reserve(1024);
  for (const SeccompRule& rule : policy.rules) {
    for (const Call& call : rule.family.calls) {
      form.push_back((static_cast<std::uint64_t>(call.tests.size()) << 32) |
                     static_cast<std::uint32_t>(call.number));
      form.push_back(wordOf(rule.verdict));
      for (const ArgumentTest& test : call.tests) {
        form.push_back((static_cast<std::uint64_t>(test.compare) << 32) | test.argument);
        form.insert(form.end(), {test.mask, test.value});
      }
    }
  }
  return form;
}

void useBuiltPrograms(std::span<const BuiltProgram> programs) {
  builtIn = programs;
}

const BuiltProgram* findBuiltProgram(const SeccompPolicy& policy) {
  if (builtIn.empty()) return nullptr;
  const RulesForm form = rulesForm(policy);
  const auto found = std::ranges::find_if(
      builtIn, [&form](const BuiltProgram& program) { return std::ranges::equal(program.rules, form); });
  return found == builtIn.end() ? nullptr : &*found;
}

Program programOf(const BuiltProgram& built, std::uint32_t ownProcess) {
  Program program{{built.instructions.begin(), built.instructions.end()}};
  for (sock_filter& one : program.instructions) {
    if (one.k == kAnyProcess) one.k = ownProcess;
  }
  return program;
}

}  // namespace factionos::sandbox
