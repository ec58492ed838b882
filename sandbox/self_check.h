// A sandbox is only believed after it refused something.
#pragma once

#include "sandbox/descriptors.h"
#include "sandbox/policy.h"

namespace factionos::sandbox {

// Two-sided: "/" could be listed before the restriction and cannot be afterwards. Where the rules grant "/"
// itself, or do not restrict files, or "/" cannot be listed by anyone, there is nothing to prove by it and
// after() does nothing.
class LandlockProbe {
 public:
  static LandlockProbe before(const FileRules& rules);
  void after() const;  // throws SetupError at Step::kSelfCheck

 private:
  enum class Expect { kNothing, kDenial };
  explicit LandlockProbe(Expect expect) : expect_(expect) {}
  Expect expect_;
};

// The policy's filter and, before its own rules: what checkSelf() calls, an answer that only this policy's
// filter gives, and death for a change of the trap handler where one is installed.
SeccompPolicy withSelfCheck(const Policy& policy);

// no_new_privs, the filter's mode and its own answer, not dumpable, no descriptor but the kept. Throws
// SetupError at Step::kSelfCheck.
void checkSelf(const Policy& policy);

// Hands a seccomp listener to the supervisor. Throws SetupError at Step::kSeccomp.
void sendListener(int socket, const Fd& listener);

}  // namespace factionos::sandbox
