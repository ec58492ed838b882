// Programs that one actor had libseccomp compile, for those that enter the same policy after it: what takes
// most of an entry's time is done once for each profile and layer. As with a worker's own (programs.h), what
// is taken is what has the policy's very form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sandbox/policy.h"
#include "sandbox/programs.h"

namespace factionos::sandbox::verify {

// In memory that a runner shares with all processes that it starts. A shelf that is full, or that another
// process is putting something on, is one that compile() does without.
class Shelf {
 public:
  // Throws std::system_error.
  Shelf();
  ~Shelf();
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;

  // In an actor, before it enters these, in this order: from now on compile() finds them here.
  void provide(std::span<const Policy> policies);

 private:
  struct Shared;
  void add(const SeccompPolicy& policy);
  [[nodiscard]] std::vector<BuiltProgram> programs() const;

  Shared* shared_;
  std::vector<BuiltProgram> used_;  // what compile() was told of
};

}  // namespace factionos::sandbox::verify
