// The program that each profile's processes run under, evaluated in user space against a table: which call
// with which arguments, by which entry, gets which verdict.
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/walls/profiles.h"
#include "sandbox/seccomp_eval.h"
#include "sandbox/self_check.h"
#include "sandbox/syscalls.h"

namespace factionos::walls {
namespace {

using Wide = std::uint64_t;
namespace calls = sandbox::calls;

constexpr Wide kHighBit = Wide{1} << 32;  // beyond what the kernel reads of an int
constexpr Wide kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

// In the order of profiles(): broker launcher front pty file git-read git-write container probe probe-program
// session session-running keeper gofer gofer-plain, then command, command-loopback, command-full,
// command-plain, command-full-plain, audit-reader. A allowed, K killed, T trapped (reported, ended), P EPERM,
// C EACCES, S ENOSYS, O EOPNOTSUPP.
struct Row {
  const char* verdicts;
  int number;
  std::vector<Wide> arguments = {};
};

char letterOf(const sandbox::Verdict& verdict) {
  using Kind = sandbox::Verdict::Kind;
  if (verdict.kind == Kind::kAllow) return 'A';
  if (verdict.kind == Kind::kKillProcess) return 'K';
  if (verdict.kind == Kind::kTrap) return 'T';
  if (verdict.kind != Kind::kErrno) return '?';
  switch (verdict.error) {
    case EPERM:
      return 'P';
    case EACCES:
      return 'C';
    case ENOSYS:
      return 'S';
    case EOPNOTSUPP:
      return 'O';
    default:
      return '?';
  }
}

struct Compiled {
  std::string_view name;
  sandbox::Policy policy;
  sandbox::Program program;  // with what enter() adds for its own check
};

std::vector<Compiled> compileAll() {
  std::vector<Compiled> all;
  for (const Profile& profile : profiles()) {
    sandbox::Policy policy = profile.policy(documentScene(profile, {}));
    sandbox::Program program = sandbox::compile(sandbox::withSelfCheck(policy));
    all.push_back({profile.name, std::move(policy), std::move(program)});
  }
  return all;
}

seccomp_data native(int number, const std::vector<Wide>& arguments) {
  seccomp_data data = sandbox::callData(number, {});
  std::copy_n(arguments.begin(), std::min<std::size_t>(arguments.size(), 6), data.args);
  return data;
}

sandbox::Verdict judged(const Compiled& compiled, const seccomp_data& data) {
  const auto value = sandbox::evaluate(compiled.program, data);
  return value ? sandbox::verdictOf(*value).value_or(sandbox::Verdict::notify()) : sandbox::Verdict::notify();
}

const std::vector<Row> kTable = {
#include "program_table.inc"
};

TEST(ProgramTable, EveryProfileGivesEachCallItsVerdict) {
#ifdef FACTIONOS_SANITIZED
  GTEST_SKIP() << "a sanitizer's build allows what its run-time calls";
#endif
  const std::vector<Compiled> all = compileAll();
  for (const Row& row : kTable) {
    ASSERT_EQ(std::string_view(row.verdicts).size(), all.size());
    std::string found;
    for (const Compiled& compiled : all)
      found += letterOf(judged(compiled, native(row.number, row.arguments)));
    EXPECT_EQ(found, row.verdicts) << sandbox::callName(row.number) << " "
                                   << testing::PrintToString(row.arguments);
  }
}

#ifdef __x86_64__
TEST(ProgramTable, AnotherArchitecturesEntryHasOneVerdictWhateverTheCall) {
  for (const Compiled& compiled : compileAll()) {
    const std::string_view role = compiled.name;
    const bool quiet =
        role == "launcher" || role == "session" || role.starts_with("probe") || role.starts_with("command");
    const sandbox::Verdict expected =
        quiet ? sandbox::Verdict::fail(ENOSYS) : sandbox::Verdict::killProcess();
    for (int number = 0; number < 700; ++number) {
      seccomp_data data = native(number, {});
      data.arch = AUDIT_ARCH_I386;
      EXPECT_EQ(judged(compiled, data), expected) << role << " i386 " << number;
      EXPECT_EQ(judged(compiled, native(0x40000000 | number, {})), expected) << role << " x32 " << number;
    }
  }
}
#endif

// Every number, with arguments that sit on the borders of the tests: the program means what the policy says.
TEST(ProgramTable, EveryProgramMeansItsPolicy) {
  const std::vector<std::vector<Wide>> samples = {
      {},
      {1, 1, 1, 1, 1, 1},
      {2, SOCK_STREAM, IPPROTO_TCP},
      {AF_INET, SOCK_RAW, 0},
      {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0},
      {~Wide{0}, ~Wide{0}, ~Wide{0}, ~Wide{0}, ~Wide{0}, ~Wide{0}},
      {kThread, kThread, kThread, kThread},
      {CLONE_NEWUSER | SIGCHLD, O_CREAT, O_CREAT, 04755},
      {0, 04755, 02755, 06755},
      {0, TIOCSTI | kHighBit, PROT_EXEC | PROT_READ, 0x20000000},
      {SIGSYS, F_SETFL, O_RDWR, MSG_FASTOPEN},
      {46, 46, 46, 46},
  };
  for (const Compiled& compiled : compileAll()) {
    const sandbox::SeccompPolicy meant = sandbox::withSelfCheck(compiled.policy);
    for (int number = 0; number < 700; ++number) {
      for (const std::vector<Wide>& arguments : samples) {
        const seccomp_data data = native(number, arguments);
        EXPECT_EQ(judged(compiled, data), sandbox::rulingOf(meant, data).verdict)
            << compiled.name << " " << sandbox::callName(number) << " " << testing::PrintToString(arguments);
      }
    }
  }
}

}  // namespace
}  // namespace factionos::walls
