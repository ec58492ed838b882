#include "sandbox/library_opens.h"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include "sandbox/families.h"
#include "sandbox/seccomp_eval.h"
#include "sandbox/setup_error.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox::testing {
namespace {

SeccompPolicy hearing() {
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.rules = {notify(families::openingToRead(), "test"),
                  refuse({"read", {{SYS_read, {}}}}, EPERM, "test")};
  return policy;
}

Verdict judge(const Program& program, seccomp_data data, std::uint64_t from) {
  data.instruction_pointer = from;
  return verdictOf(evaluate(program, data).value()).value();
}

TEST(LibraryOpens, GoOnUnheardByWhereTheyReturnTo) {
  SeccompPolicy policy = hearing();
  policy.unheardOpens = {0x123, 0xffe};
  const Program program = compile(policy);
  const seccomp_data open = libraryOpen();
  for (const std::uint64_t place : {0x7f12'3456'7123ULL, 0x123ULL, 0x5555'0000'0ffeULL})
    EXPECT_EQ(judge(program, open, place), Verdict::allow());
  for (const std::uint64_t place : {0x7f12'3456'7124ULL, 0ULL, 0xfffULL, 0x1230ULL})
    EXPECT_EQ(judge(program, open, place), Verdict::notify());
  EXPECT_EQ(judge(compile(hearing()), open, 0x123), Verdict::notify());
}

TEST(LibraryOpens, AreOneCallInOneForm) {
  SeccompPolicy policy = hearing();
  policy.unheardOpens = {0x123};
  const Program program = compile(policy);
  seccomp_data plain = libraryOpen();
  plain.args[2] = O_RDONLY;
  EXPECT_EQ(judge(program, plain, 0x123), Verdict::notify());
  seccomp_data folder = libraryOpen();
  folder.args[2] |= O_DIRECTORY;
  EXPECT_EQ(judge(program, folder, 0x123), Verdict::notify());
  seccomp_data foreign = libraryOpen();
  foreign.arch = AUDIT_ARCH_I386;
  EXPECT_EQ(judge(program, foreign, 0x123), policy.foreignEntry);
  EXPECT_EQ(judge(program, callData(SYS_read, {0, 0, O_RDONLY | O_CLOEXEC}), 0x123), Verdict::fail(EPERM));
  EXPECT_EQ(judge(program, callData(SYS_getpid, {}), 0x123), Verdict::allow());
}

TEST(LibraryOpens, AreNeverLeftOutOfWhatIsJudged) {
  SeccompPolicy policy = hearing();
  policy.rules.front().verdict = Verdict::fail(EACCES);
  policy.unheardOpens = {0x123};
  const Failure failure = failureOf([&policy] { compile(policy); });
  EXPECT_EQ(failure.reason, "seccomp_verdict_invalid");
}

}  // namespace
}  // namespace factionos::sandbox::testing
