// Runs a filter program in user space, for tests and for explaining a policy without entering it.
#pragma once

#include <cstdint>
#include <optional>

#include <linux/seccomp.h>

#include "sandbox/seccomp.h"

namespace factionos::sandbox {

// The kernel's return value (SECCOMP_RET_* with data), or nothing if the program is not valid classic BPF of
// the kind that seccomp admits.
std::optional<std::uint32_t> evaluate(const Program& program, const seccomp_data& data);

// A call of this architecture.
seccomp_data callData(int number, std::initializer_list<std::uint64_t> arguments);

// Which row of a policy decides a call, by the meaning of its text: the first that matches.
struct Ruling {
  Verdict verdict;
  const SeccompRule* rule =
      nullptr;  // borrowed from the policy; null: no row, so `unlisted` or `foreignEntry`
};
Ruling rulingOf(const SeccompPolicy& policy, const seccomp_data& data);

// Any verdict but trap's or notify's data; nothing if `value` is none of ours.
std::optional<Verdict> verdictOf(std::uint32_t value);

}  // namespace factionos::sandbox
