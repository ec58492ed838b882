// What the kernel's own audit knows of a command's denials is told where an operator gives the capability to
// read it: with the real broker, as an ordinary user. The audit itself is enabled by a child of this test
// that stays root, and set back when a test ends.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../absent.h"
#include "live_broker.h"
#include "sandbox/landlock.h"
#include "sandbox/landlock_audit.h"

namespace factionos::test {
namespace {

constexpr int kAuditRead = 37;  // CAP_AUDIT_READ

// ---- The audit's switch

int guardian = -1;  // our end of the line to who may turn it; -1: there is none

// The audit's status, or what became of setting it.
std::optional<audit_status> ask(std::uint16_t type, const audit_status* set) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
  struct {
    nlmsghdr header;
    audit_status status;
  } message{};
  message.header.nlmsg_len = static_cast<std::uint32_t>(set != nullptr ? sizeof message : sizeof(nlmsghdr));
  message.header.nlmsg_type = type;
  message.header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | (set != nullptr ? NLM_F_ACK : 0));
  if (set != nullptr) message.status = *set;
  ::send(socket, &message, message.header.nlmsg_len, 0);
  std::array<char, 8192> reply{};
  const auto size = ::recv(socket, reply.data(), reply.size(), 0);
  ::close(socket);
  nlmsghdr header{};
  if (size < static_cast<ssize_t>(sizeof header + sizeof(std::int32_t))) return std::nullopt;
  std::memcpy(&header, reply.data(), sizeof header);
  audit_status status{};
  if (header.nlmsg_type == NLMSG_ERROR) {
    std::int32_t error = 0;
    std::memcpy(&error, reply.data() + sizeof header, sizeof error);
    return error == 0 ? std::optional(status) : std::nullopt;
  }
  std::memcpy(&status, reply.data() + sizeof header,
              std::min(sizeof status, static_cast<std::size_t>(size) - sizeof header));
  return status;
}

bool turn(std::uint32_t enabled) {
  audit_status status{};
  status.mask = AUDIT_STATUS_ENABLED;
  status.enabled = enabled;
  return ask(AUDIT_SET, &status).has_value();
}

// One byte asks, one answers; at the end of the line it is as it was.
[[noreturn]] void serveSwitch(int line) {
  const auto before = ask(AUDIT_GET, nullptr);
  char wanted = 0;
  while (::read(line, &wanted, 1) == 1) {
    const bool done = before && turn(wanted == '1' ? 1 : before->enabled);
    if (::write(line, done ? "y" : "n", 1) != 1) break;
  }
  if (before) turn(before->enabled);
  ::_exit(0);
}

class Enabled {
 public:
  Enabled() : done_(say('1')) {}
  ~Enabled() { say('0'); }
  Enabled(const Enabled&) = delete;
  Enabled& operator=(const Enabled&) = delete;
  explicit operator bool() const { return done_; }

 private:
  static bool say(char what) {
    char answer = 'n';
    return guardian >= 0 && ::write(guardian, &what, 1) == 1 && ::read(guardian, &answer, 1) == 1 &&
           answer == 'y';
  }
  bool done_;
};

// ---- The capability

bool setCapability() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  sets[1].effective = sets[1].permitted = sets[1].inheritable = 1U << (kAuditRead - 32);
  return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

// For what is started meanwhile.
class Ambient {
 public:
  Ambient() : done_(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kAuditRead, 0, 0) == 0) {}
  ~Ambient() { ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, kAuditRead, 0, 0); }
  Ambient(const Ambient&) = delete;
  Ambient& operator=(const Ambient&) = delete;
  explicit operator bool() const { return done_; }

 private:
  bool done_;
};

bool holdsCapability(pid_t process) {
  std::istringstream status(readFile("/proc/" + std::to_string(process) + "/status"));
  for (std::string line; std::getline(status, line);) {
    for (const char* set : {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"}) {
      if (line.starts_with(set) && (std::stoull(line.substr(7), nullptr, 16) >> kAuditRead & 1) != 0)
        return true;
    }
  }
  return false;
}

// ---- Sessions

std::string secretOf(const LiveBroker& broker) {
  const auto folder = std::filesystem::path(broker.workspace()).parent_path() / "outside";
  std::filesystem::create_directory(folder);
  writeFile(folder / "secret", "canary");
  return folder / "secret";
}

std::string shellLine(const std::string& line) {
  return R"("shell":")" + line + "\"";
}

// By an open with O_NOCTTY, which a command's filter asks nobody about.
std::string unheard(const std::string& file) {
  return "dd if=" + file + " iflag=noctty of=/dev/null";
}

// A busy machine's audit loses records: one alone proves nothing.
const std::string kOften = "for i in 0 1 2 3 4 5 6 7 8 9; do ";

// "operation target source": count.
std::map<std::string, std::uint64_t> denials(const Reply& session) {
  std::map<std::string, std::uint64_t> rows;
  for (int i = 0; session.has("/session/denials/" + std::to_string(i)); ++i) {
    const auto row = "/session/denials/" + std::to_string(i);
    rows[session.at(row + "/operation") + " " + session.at(row + "/target") + " " +
         session.at(row + "/source")] = session.number(row + "/count");
  }
  return rows;
}

// A process that has nothing to do with a session, denied to write there, five times.
void beDeniedElsewhere(const std::string& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    sandbox::LandlockPolicy nothing;
    nothing.scopes = {sandbox::Need::kOff, sandbox::Need::kOff};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(1);
    sandbox::restrictByLandlock(nothing);
    for (int i = 0; i < 5; ++i) {
      if (std::ofstream(file, std::ios::app).is_open()) ::_exit(1);
    }
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

class KernelAudit : public testing::Test {
 protected:
  void SetUp() override {
    if (sandbox::landlockAbi() < sandbox::kAbiOfAudit)
      GTEST_SKIP() << "this kernel records none of Landlock's denials";
  }

  // Runs `line` until `row` is counted `count` times; the session as it is then, still running.
  static Reply until(LiveBroker& broker, const std::string& line, const std::string& row,
                     std::uint64_t count) {
    const auto token = broker.token();
    const auto started = broker.run(shellLine(line + "; echo done; cat"), token, uniqueKey());
    const auto id = started.at("/session/id");
    Reply session = broker.untilOutput(id, "done", token);
    eventually([&]() {
      session = broker.get("/v1/terminal/sessions/" + id, token);
      const auto rows = denials(session);
      const auto found = rows.find(row);
      return found != rows.end() && found->second >= count;
    });
    return session;
  }
};

class KernelAuditAsRoot : public KernelAudit {
 protected:
  void SetUp() override {
    KernelAudit::SetUp();
    if (IsSkipped() || guardian >= 0) return;
    ASSERT_FALSE(mustHaveAll() && std::getenv("FACTIONOS_ORDINARY_USER") == nullptr) << "needs root";
    GTEST_SKIP() << "needs root: it enables the audit and gives the capability";
  }
};

TEST_F(KernelAuditAsRoot, WhatTheGoferDoesNotHearIsTold) {
  const Enabled enabled;
  if (!enabled) ABSENT("an audit that can be enabled");
  std::optional<Ambient> ambient(std::in_place);
  ASSERT_TRUE(*ambient);
  LiveBroker broker({.kernel = Setup::Kernel::kNoUserNamespaces});
  ambient.reset();
  EXPECT_NE(broker.log().find("landlock_audit=read"), std::string::npos) << broker.log();
  const auto secret = secretOf(broker);
  beDeniedElsewhere(secret);

  const auto session = until(broker, kOften + unheard(secret) + "; done", "read outside landlock-audit", 1);
  const auto rows = denials(session);
  ASSERT_TRUE(rows.contains("read outside landlock-audit")) << session.body;
  EXPECT_LE(rows.at("read outside landlock-audit"), 10U) << session.body;
  EXPECT_FALSE(rows.contains("write outside landlock-audit")) << session.body;  // of another domain

  // While a command runs: nobody has the capability, and its reader alone the socket.
  const auto reader = broker.child("audit-reader");
  ASSERT_NE(reader, 0);
  const auto status = readFile("/proc/" + std::to_string(reader) + "/status");
  EXPECT_NE(status.find("NoNewPrivs:\t1"), std::string::npos) << status;
  EXPECT_NE(status.find("Seccomp:\t2"), std::string::npos) << status;
  auto processes = descendants(broker.pid());
  processes.push_back(broker.pid());
  EXPECT_GE(processes.size(), 7U);
  for (const auto process : processes) EXPECT_FALSE(holdsCapability(process)) << process;
}

TEST_F(KernelAuditAsRoot, WhatTheGoferHasHeardIsCountedOnce) {
  const Enabled enabled;
  if (!enabled) ABSENT("an audit that can be enabled");
  std::optional<Ambient> ambient(std::in_place);
  LiveBroker broker({.kernel = Setup::Kernel::kNoUserNamespaces});
  ambient.reset();
  const auto secret = secretOf(broker);
  const auto session = until(broker, kOften + "cat " + secret + "; " + unheard(secret) + "; done",
                             "read outside landlock", 11);
  const auto rows = denials(session);
  ASSERT_TRUE(rows.contains("read outside landlock")) << session.body;
  EXPECT_LE(rows.at("read outside landlock"), 20U) << session.body;
  EXPECT_FALSE(rows.contains("read outside landlock-audit")) << session.body;
}

TEST_F(KernelAuditAsRoot, NobodyCountsOnAReaderThatIsGone) {
  const Enabled enabled;
  if (!enabled) ABSENT("an audit that can be enabled");
  std::optional<Ambient> ambient(std::in_place);
  LiveBroker broker({.kernel = Setup::Kernel::kNoUserNamespaces});
  ambient.reset();
  const auto token = broker.token();
  const auto isAudited = [&]() {
    const auto body = broker.outcome(shellLine("true"), token, uniqueKey()).body;
    return body.find("denials:kernel_audit") != std::string::npos;
  };
  EXPECT_TRUE(isAudited());
  ::kill(broker.child("audit-reader"), SIGKILL);
  EXPECT_TRUE(eventually([&]() { return broker.child("audit-reader") == 0; }));
  isAudited();  // by a supervisor that was waiting already
  EXPECT_FALSE(isAudited());
}

TEST_F(KernelAuditAsRoot, TheSocketCantBeTakenFromWhoHasJoined) {
  const Ambient ambient;
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(sandbox::joinLandlockAudit());
    ::_exit(::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(KernelAuditAsRoot, TheCapabilityIsGoneFromEverySetOnceTheSocketHasJoined) {
  const Ambient ambient;
  ASSERT_TRUE(ambient);
  ASSERT_TRUE(holdsCapability(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) {
    const auto audit = sandbox::joinLandlockAudit();
    ::_exit(audit.reading == sandbox::AuditReading::kNoCapability || holdsCapability(::getpid()) ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(KernelAudit, WithoutTheCapabilityNothingIsReadAndItSaysSo) {
  const Enabled enabled;  // where it can be
  LiveBroker broker({.kernel = Setup::Kernel::kNoUserNamespaces});
  EXPECT_NE(broker.log().find("landlock_audit=no_capability"), std::string::npos) << broker.log();
  EXPECT_EQ(broker.child("audit-reader"), 0);
  const auto session = broker.outcome(shellLine(unheard(secretOf(broker))), broker.token(), uniqueKey());
  EXPECT_TRUE(denials(session).empty()) << session.body;
}

TEST_F(KernelAuditAsRoot, AnAuditThatIsOffIsToldAsSuch) {
  std::optional<Ambient> ambient(std::in_place);
  LiveBroker broker({.kernel = Setup::Kernel::kNoUserNamespaces});
  ambient.reset();
  if (broker.log().find("landlock_audit=read") != std::string::npos) GTEST_SKIP() << "the machine's is on";
  EXPECT_NE(broker.log().find("landlock_audit=not_enabled"), std::string::npos) << broker.log();
  EXPECT_EQ(broker.child("audit-reader"), 0);
}

}  // namespace

// As root: leaves a child behind that may turn the audit's switch, and becomes an ordinary user that may give
// the one capability on.
void prepareAudit() {
  if (::geteuid() != 0) return becomeOrdinaryUser();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) ::_exit(1);
  if (::fork() == 0) {
    ::close(ends[0]);
    serveSwitch(ends[1]);
  }
  ::close(ends[1]);
  ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  becomeOrdinaryUser();
  if (setCapability()) guardian = ends[0];
}

}  // namespace factionos::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  factionos::test::prepareAudit();
  return RUN_ALL_TESTS();
}
