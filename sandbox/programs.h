// Programs that were compiled when the product was built: a process that is started for each command has no
// time to ask libseccomp for what is always the same.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string_view>
#include <vector>

#include <linux/filter.h>

#include "sandbox/seccomp.h"

namespace factionos::sandbox {

// All that a program is made from and nothing else, neither names nor reasons: policies of one form have one
// meaning.
using RulesForm = std::vector<std::uint64_t>;
RulesForm rulesForm(const SeccompPolicy& policy);

struct BuiltProgram {
  std::span<const std::uint64_t>
      rules;  // the form of what it was compiled from, whole: nothing is taken on trust
  std::span<const sock_filter> instructions;  // with kAnyProcess where the pid of its process belongs
};

// From now on compile() takes from `programs` what has a policy's very form, and asks libseccomp for the
// rest. Borrowed for the life of the process; called by main().
void useBuiltPrograms(std::span<const BuiltProgram> programs);

// The program built for this form, or nullptr.
const BuiltProgram* findBuiltProgram(const SeccompPolicy& policy);

// For the process with this pid.
Program programOf(const BuiltProgram& built, std::uint32_t ownProcess);

// C++ source that defines `span` (a qualified name of a `const std::span<const BuiltProgram>`), for the
// policies as this machine's libseccomp compiles them. Policies of the same form are written once.
void writeBuiltPrograms(std::ostream& out, std::string_view span, std::span<const SeccompPolicy> policies);

}  // namespace factionos::sandbox
