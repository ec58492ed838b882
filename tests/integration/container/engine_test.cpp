// The worker beside a real Docker Engine, which `run` has started: what the walls of its containers are,
// proven from inside, and that nothing stays.
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "container_harness.h"
#include "protocol/text.h"
#include "tests/absent.h"

namespace factionos::test {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Of another program of this machine: the engine's own client, by hand.
std::string docker(const std::string& arguments) {
  const std::string line =
      "docker --host unix://" + variable("FACTIONOS_ENGINE_SOCKET") + " " + arguments + " 2>&1";
  FILE* const pipe = popen(line.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const std::size_t got = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, got);
  pclose(pipe);
  while (output.ends_with('\n')) output.pop_back();
  return output;
}

std::string ours() {
  return docker("ps -aq --filter label=org.factionos.managed=1");
}

// Local to each test: KJ wants its loop on the stack.
struct Real {
  Broker broker;
  EngineWorker worker{broker, variable("FACTIONOS_ENGINE_SOCKET")};

  // What a shell in the container says to this script.
  std::string shell(const std::string& script, RunSpec spec = {}) {
    spec.argv = {"/bin/sh", "-c", script};
    EngineRun run = worker.start(spec);
    const auto outcome = run.end();
    EXPECT_EQ(text(outcome), "exited") << (outcome.hasDenial() ? view(outcome.getDenial().getTarget()) : "");
    EXPECT_EQ(outcome.getRemoval(), schema::Removal::REMOVED);
    std::string said = run.heard->out + run.heard->errors;
    while (said.ends_with('\n')) said.pop_back();
    return said;
  }
};

// Skipped by hand, never by `run`, which has one.
#define NEEDS_ENGINE() \
  if (variable("FACTIONOS_ENGINE_SOCKET").empty()) GTEST_SKIP() << "run by tests/integration/container/run"

TEST(ContainerEngine, H1_OutputAndExitCodeAreNeverLost) {
  NEEDS_ENGINE();
  Real real;
  for (int round = 0; round < 10; ++round) {
    RunSpec spec;
    spec.argv = {"/bin/sh", "-c", "echo hi; echo oh >&2; exit 7"};
    EngineRun run = real.worker.start(spec);
    const auto outcome = run.end();
    ASSERT_EQ(text(outcome), "exited");
    ASSERT_EQ(outcome.getExitCode(), 7);
    ASSERT_EQ(run.heard->out, "hi\n");
    ASSERT_EQ(run.heard->errors, "oh\n");
    ASSERT_EQ(outcome.getRemoval(), schema::Removal::REMOVED);
  }
  EXPECT_EQ(ours(), "");
}

TEST(ContainerEngine, P92_TheWallsAreWhatTheyAreMeantToBe) {
  NEEDS_ENGINE();
  Real real;
  const std::string status = real.shell("cat /proc/self/status");
  for (const char* line :
       {"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"})
    EXPECT_NE(status.find(line), std::string::npos) << line << "\n" << status;
  EXPECT_EQ(real.shell("id -u; id -g"), std::to_string(getuid()) + "\n" + std::to_string(getgid()));
  EXPECT_NE(real.shell("touch /x 2>&1; touch /bin/x 2>&1; echo then").find("Read-only file system"),
            std::string::npos);
  EXPECT_EQ(real.shell("ls /sys/class/net"), "lo");
  EXPECT_EQ(real.shell("touch /dev/shm/x 2>/dev/null && echo made || echo none"), "none");
  EXPECT_EQ(real.shell("cat /proc/1/comm"), "docker-init");
  EXPECT_EQ(real.shell("ulimit -n; ulimit -c"), "256\n0");
  const std::string mounts = real.shell("grep ' /tmp ' /proc/mounts");
  for (const char* option : {"nosuid", "nodev", "noexec"})
    EXPECT_NE(mounts.find(option), std::string::npos) << mounts;
  EXPECT_EQ(real.shell("dd if=/dev/zero of=/tmp/x bs=64k count=64 2>/dev/null; wc -c </tmp/x"), "1048576")
      << "the whole of it is 1 MiB";
  EXPECT_EQ(real.shell(
                "echo 'echo ran' >/tmp/s; chmod 755 /tmp/s; sh /tmp/s; (/tmp/s) 2>/dev/null || echo refused"),
            "ran\nrefused");
  EXPECT_EQ(real.shell("pwd; echo $HOME"), "/tmp\n/tmp");
  EXPECT_EQ(real.shell("ls /var/run/docker.sock /run/docker.sock 2>/dev/null; true"), "");
  EXPECT_EQ(real.shell("env | grep -c FACTIONOS_HOME; true"), "0");
}

// P25: none is none, to the metadata address of clouds as to anything else.
TEST(ContainerEngine, P25_WithoutANetworkThereIsNoRoute) {
  NEEDS_ENGINE();
  Real real;
  EXPECT_EQ(real.shell("cat /proc/net/route | wc -l"), "1") << "its head line alone";
  EXPECT_EQ(real.shell("wget -q -T 2 -O - http://169.254.169.254/ 2>/dev/null && echo reached || echo no"),
            "no");
  EXPECT_EQ(real.shell("httpd -p 127.0.0.1:8080 -h / && wget -q -O - "
                       "http://127.0.0.1:8080/sys/class/net/lo/mtu 2>/dev/null"),
            "65536")
      << "the control: its own loopback is there";
}

TEST(ContainerEngine, H8_MemoryIsLimitedAndToldApart) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.memoryBytes = 16 << 20;
  spec.argv = {"/bin/sh", "-c", "x=a; while true; do x=$x$x; done"};
  EngineRun run = real.worker.start(spec);
  const auto outcome = run.end();
  EXPECT_EQ(outcome.getEnd(), schema::ContainerEnd::OUT_OF_MEMORY) << text(outcome) << outcome.getExitCode();
  EXPECT_EQ(outcome.getExitCode(), 137);
}

TEST(ContainerEngine, H8_ProcessesAreLimited) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.pids = 16;
  spec.argv = {"/bin/sh", "-c", "(for i in $(seq 40); do sleep 8 & done) 2>/dev/null; sleep 6; echo done"};
  EngineRun run = real.worker.start(spec);
  const auto outcome = run.end();
  EXPECT_TRUE(outcome.getPidsReached()) << text(outcome) << run.heard->out << run.heard->errors;
  EXPECT_EQ(run.heard->out, "done\n") << "who is not let start another goes on";
  spec.argv = {"/bin/sleep", "3"};
  EngineRun quiet = real.worker.start(spec);
  EXPECT_FALSE(quiet.end().getPidsReached()) << "the control";
}

TEST(ContainerEngine, H13_TimeIsLimitedAlsoForWhatIgnoresTheStop) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.timeoutMs = 500;
  spec.graceMs = 500;
  spec.argv = {"/bin/sh", "-c", "trap '' TERM; echo up; while true; do sleep 1; done"};
  const auto begun = real.broker.loop.timer().now();
  EngineRun run = real.worker.start(spec);
  const auto outcome = run.end();
  EXPECT_EQ(text(outcome), "timed_out");
  EXPECT_EQ(outcome.getExitCode(), 137);
  EXPECT_EQ(run.heard->out, "up\n");
  EXPECT_LT(real.broker.loop.timer().now() - begun, 10 * kj::SECONDS);
  spec.argv = {"/bin/sh", "-c", "trap 'echo stopping; exit 3' TERM; while true; do sleep 0.1; done"};
  EngineRun polite = real.worker.start(spec);
  const auto told = polite.end();
  EXPECT_EQ(text(told), "timed_out");
  EXPECT_EQ(told.getExitCode(), 3);
  EXPECT_EQ(polite.heard->out, "stopping\n");
  EXPECT_EQ(ours(), "");
}

TEST(ContainerEngine, H3_WhatIsNotReadDoesNotHoldIt) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.argv = {"/bin/sh", "-c", "dd if=/dev/zero bs=64k count=1600 2>/dev/null"};
  EngineRun run = real.worker.start(spec);
  run.heard->pace = 50 * kj::MILLISECONDS;
  const auto outcome = run.end();
  EXPECT_EQ(text(outcome), "exited");
  EXPECT_EQ(outcome.getTotalBytes(), 1600U * 65536U);
  EXPECT_EQ(run.heard->out.size() + outcome.getDroppedBytes(), outcome.getTotalBytes());
}

TEST(ContainerEngine, TheWorkspaceIsMountedAsItsTemplateSays) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.workspace = real.broker.world.workspace;
  spec.auth = real.broker.world.outside;
  real.broker.world.write(spec.workspace + "/here", "content");
  real.broker.world.write(spec.auth + "/token", "secret");
  EXPECT_EQ(real.shell("pwd; cat here; echo made >there; id -u", spec),
            "/workspace\ncontent" + std::to_string(getuid()));
  EXPECT_EQ(World::read(spec.workspace + "/there"), "made\n");
  EXPECT_EQ(real.shell("cat /auth/token; (echo x >/auth/token) 2>/dev/null || echo refused", spec),
            "secretrefused");
  spec.writable = false;
  EXPECT_EQ(real.shell("(echo x >there) 2>/dev/null || echo refused", spec), "refused");
  EXPECT_EQ(World::read(spec.workspace + "/there"), "made\n");
}

TEST(ContainerEngine, H9_AMountWhoseSourceIsMissingMakesNothing) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.workspace = real.broker.world.workspace + "/absent";
  EngineRun run = real.worker.start(spec);
  EXPECT_EQ(text(run.end()), "not_started/mount_refused");
  EXPECT_NE(access(spec.workspace.c_str(), F_OK), 0);
  EXPECT_EQ(ours(), "");
}

// What is mounted below stays out: seen neither through a read-only mount, which would leave it writable, nor
// through another.
TEST(ContainerEngine, H11_WhatIsMountedBelowTheWorkspaceStaysOut) {
  NEEDS_ENGINE();
  const std::string shared = variable("FACTIONOS_ENGINE_SHARED");
  struct stat below {};
  struct stat whole {};
  if (stat((shared + "/below").c_str(), &below) != 0 || stat(shared.c_str(), &whole) != 0 ||
      below.st_dev == whole.st_dev) {
    ABSENT("no mount could be made below the workspace");
  }
  std::ofstream(shared + "/below/secret") << "of another file system";
  Real real;
  RunSpec spec;
  spec.workspace = shared;
  for (const bool writable : {false, true}) {
    spec.writable = writable;
    EXPECT_EQ(real.shell("ls below", spec), "");
    real.shell("(echo x >below/made) 2>/dev/null; true", spec);
    EXPECT_NE(access((shared + "/below/made").c_str(), F_OK), 0);
  }
}

TEST(ContainerEngine, WhatIsMissingIsNamed) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.image = "factionos-absent:latest";
  EngineRun image = real.worker.start(spec);
  EXPECT_EQ(text(image.end()), "not_started/image_missing");
  spec = {};
  spec.argv = {"/bin/absent"};
  EngineRun program = real.worker.start(spec);
  const auto outcome = program.end();
  EXPECT_TRUE(text(outcome) == "not_started/start_refused" || outcome.getExitCode() == 127) << text(outcome);
  spec = {};
  spec.network = schema::ContainerNetwork::EGRESS;
  EngineRun network = real.worker.start(spec);
  EXPECT_EQ(text(network.end()), "not_started/network_missing");
  EXPECT_EQ(ours(), "");
}

TEST(ContainerEngine, TheProbeTellsWhatIsThere) {
  NEEDS_ENGINE();
  Real real;
  auto request = real.worker.containers.probeRequest();
  request.setImage("factionos-isolated:latest");
  request.setInstance("test-instance");
  auto response = real.worker.call(request);
  const auto probe = response.getProbe();
  EXPECT_EQ(probe.getEngine().getStatus(), schema::Posture::AVAILABLE) << view(probe.getEngine().getReason());
  EXPECT_EQ(probe.getKind(), schema::EngineKind::DOCKER);
  EXPECT_FALSE(probe.getRootless());
  EXPECT_EQ(probe.getImage().getStatus(), schema::Posture::AVAILABLE) << view(probe.getImage().getReason());
  EXPECT_EQ(view(probe.getImageVersion()), FACTIONOS_VERSION);
  RunSpec spec;
  spec.imageId = view(probe.getImageId());
  EngineRun approved = real.worker.start(spec);
  EXPECT_EQ(text(approved.end()), "exited");
  spec.imageId.back() = spec.imageId.back() == '0' ? '1' : '0';
  EngineRun changed = real.worker.start(spec);
  EXPECT_EQ(text(changed.end()), "not_started/image_changed");
  EXPECT_EQ(ours(), "");
  EXPECT_EQ(probe.getBrowserDependencies().getStatus(), schema::Posture::UNAVAILABLE);
  EXPECT_EQ(view(probe.getEgress().getReason()), "network_missing");
  EXPECT_EQ(probe.getCleanup().getStatus(), schema::Posture::AVAILABLE);
  EXPECT_EQ(probe.getIsolation().getStatus(), schema::Posture::AVAILABLE)
      << view(probe.getIsolation().getReason());
}

// H5, and issue 6: whatever is killed leaves containers that are found again, and nobody else's are touched.
TEST(ContainerEngine, AWorkerThatIsKilledLeavesNothingBehindItsSettling) {
  NEEDS_ENGINE();
  const std::string foreign = docker(
      "run -d --network none --label org.factionos.managed=1 --label org.factionos.instance=other "
      "factionos-isolated:latest sleep 300");
  const std::string stranger = docker("run -d --network none factionos-isolated:latest sleep 300");
  ASSERT_EQ(foreign.size(), 64U) << foreign;
  {
    Real real;
    RunSpec spec;
    spec.argv = {"/bin/sleep", "300"};
    for (const char* action : {"act_one", "act_two"}) {
      spec.action = action;
      EngineRun run = real.worker.start(spec);
      ASSERT_TRUE(run.started());
      // Its runs' capabilities end with it, and it has no time to do anything about that.
      if (spec.action == "act_two") real.worker.killWorker();
    }
    EngineWorker next(real.broker, variable("FACTIONOS_ENGINE_SOCKET"));
    for (int round = 0; round < 100 && next.count("test-instance") > 1; ++round)
      real.broker.wait(real.broker.loop.timer().afterDelay(100 * kj::MILLISECONDS));
    EXPECT_EQ(next.count("test-instance"), 1U) << "the second; the first was dropped while its worker lived";
    spec.proof = "forged";
    EXPECT_EQ(next.settle(spec), "foreign");
    spec.proof = RunSpec().proof;
    EXPECT_EQ(next.settle(spec, 200), "removed");
    EXPECT_EQ(next.settle(spec), "absent");
    EXPECT_EQ(next.count("test-instance"), 0U);
  }
  EXPECT_EQ(docker("inspect -f '{{.State.Running}}' " + foreign), "true");
  EXPECT_EQ(docker("inspect -f '{{.State.Running}}' " + stranger), "true");
  docker("rm -f " + foreign + " " + stranger);
}

TEST(ContainerEngine, ANameOfSomebodyElseIsLeftAlone) {
  NEEDS_ENGINE();
  const std::string foreign =
      docker("create --name factionos-act-taken --network none factionos-isolated:latest true");
  ASSERT_EQ(foreign.size(), 64U) << foreign;
  Real real;
  RunSpec spec;
  spec.action = "act_taken";
  EngineRun run = real.worker.start(spec);
  EXPECT_EQ(text(run.end()), "not_started/name_taken");
  EXPECT_EQ(real.worker.settle(spec), "foreign");
  EXPECT_EQ(docker("inspect -f '{{.Id}}' factionos-act-taken"), foreign);
  docker("rm -f " + foreign);
}

TEST(ContainerEngine, ARetryFindsItsOwn) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.action = "act_retried";
  spec.argv = {"/bin/sh", "-c", "sleep 2; exit 9"};
  {
    EngineRun run = real.worker.start(spec);
    ASSERT_TRUE(run.started());
    real.worker.killWorker();
  }
  EngineWorker again(real.broker, variable("FACTIONOS_ENGINE_SOCKET"));
  EngineRun adopted = again.start(spec);
  const auto outcome = adopted.end();
  EXPECT_EQ(text(outcome), "exited");
  EXPECT_TRUE(outcome.getAdopted());
  EXPECT_EQ(outcome.getExitCode(), 9);
  EXPECT_EQ(ours(), "");
}

TEST(ContainerEngine, AnEngineThatStandsStillIsWaitedForAndNotForEver) {
  NEEDS_ENGINE();
  Real real;
  RunSpec spec;
  spec.argv = {"/bin/sh", "-c", "sleep 1; exit 4"};
  EngineRun run = real.worker.start(spec);
  ASSERT_TRUE(run.started());
  std::ofstream(variable("FACTIONOS_ENGINE_WISH")) << "stop\n" << std::flush;
  real.broker.wait(real.broker.loop.timer().afterDelay(3 * kj::SECONDS));
  std::ofstream(variable("FACTIONOS_ENGINE_WISH")) << "go\n" << std::flush;
  const auto outcome = run.end();
  EXPECT_EQ(text(outcome), "exited");
  EXPECT_EQ(outcome.getExitCode(), 4);
  EXPECT_EQ(ours(), "");
}

TEST(ContainerEngine, TwentyAtATime) {
  NEEDS_ENGINE();
  Real real;
  std::deque<EngineRun> runs;
  RunSpec spec;
  spec.argv = {"/bin/sh", "-c", "echo $FACTIONOS_RUN"};
  for (int i = 0; i < 20; ++i) runs.push_back(real.worker.start(spec));
  for (EngineRun& run : runs) {
    EXPECT_EQ(text(run.end()), "exited");
    EXPECT_EQ(run.heard->out, "run_of_a_test\n");
  }
  EXPECT_EQ(ours(), "");
}

// Issue 6, the profile `egress`: other machines, and neither this one, nor a cloud's metadata service, nor
// another container. `run` has seen each of them answer to the machine itself.
TEST(ContainerEngine, P25_EgressReachesOtherMachinesAlone) {
  NEEDS_ENGINE();
  std::ofstream(variable("FACTIONOS_ENGINE_WISH")) << "egress\n" << std::flush;
  Real real;
  for (int round = 0; round < 200 && access(variable("FACTIONOS_ENGINE_EGRESS").c_str(), F_OK) != 0; ++round)
    real.broker.wait(real.broker.loop.timer().afterDelay(50 * kj::MILLISECONDS));
  RunSpec spec;
  spec.network = schema::ContainerNetwork::EGRESS;
  spec.argv = {"/bin/sh", "-c", "hostname -i; httpd -f -p 8080 -h /"};
  EngineRun other = real.worker.start(spec);
  ASSERT_TRUE(other.started());
  for (int round = 0; round < 100 && !other.heard->out.ends_with('\n'); ++round)
    real.broker.wait(real.broker.loop.timer().afterDelay(50 * kj::MILLISECONDS));
  const std::string neighbour = other.heard->out.substr(0, other.heard->out.find('\n'));
  ASSERT_FALSE(neighbour.empty()) << other.heard->errors;
  const auto reaches = [](const std::string& address, const std::string& port = "80") {
    return "nc -w 2 " + address + " " + port + " </dev/null >/dev/null 2>&1 && echo reached || echo no; ";
  };
  EXPECT_EQ(real.shell(reaches("203.0.113.1") + reaches("169.254.169.254") + reaches("203.0.113.2") +
                           reaches("$(ip route | sed -n 's/^default via \\([^ ]*\\).*/\\1/p')") +
                           reaches(neighbour, "8080"),
                       spec),
            "reached\nno\nno\nno\nno");
  EXPECT_EQ(real.shell("httpd -p 8080 -h /; " + reaches("$(hostname -i)", "8080"), spec), "reached")
      << "the control: such a service answers to its own container";
  other.kill();
  other.end();
  spec.network = schema::ContainerNetwork::NONE;
  EXPECT_EQ(real.shell(reaches("203.0.113.1") + reaches("169.254.169.254") + reaches("203.0.113.2"), spec),
            "no\nno\nno");
  EXPECT_EQ(ours(), "");
}

// Beside a rootless podman of the same user.
TEST(PodmanEngine, RunsWithEveryWallOrNotAtAll) {
  const std::string socket = variable("FACTIONOS_PODMAN_SOCKET");
  if (socket.empty()) GTEST_SKIP() << "no podman was started";
  Broker broker;
  EngineWorker worker(broker, socket, schema::EngineKind::PODMAN);
  RunSpec spec;
  spec.argv = {"/bin/sh", "-c", "exit 7"};
  EngineRun run = worker.start(spec);
  for (int again = 0; again < 3 && text(run.end()) == "not_started/engine_timeout"; ++again)
    run = worker.start(spec);
  const auto outcome = run.end();
  if (text(outcome) == "exited") {
    EXPECT_EQ(outcome.getExitCode(), 7);
  } else {
    // Where it may use no cgroup it drops limits without a word.
    EXPECT_EQ(text(outcome), "not_started/not_as_meant") << view(outcome.getDenial().getTarget());
    EXPECT_EQ(view(outcome.getDenial().getTarget()), "Memory");
    auto request = worker.containers.probeRequest();
    request.setImage("factionos-isolated:latest");
    request.setInstance("test-instance");
    auto response = worker.call(request);
    const auto probe = response.getProbe();
    // Which it tells within its time, or says that it had none.
    if (probe.getIsolation().getStatus() == schema::Posture::POLICY_BLOCKED) {
      EXPECT_EQ(probe.getKind(), schema::EngineKind::PODMAN);
      EXPECT_TRUE(probe.getRootless());
      EXPECT_EQ(view(probe.getIsolation().getReason()), "limits_missing");
    } else {
      EXPECT_TRUE(probe.getEngine().getStatus() == schema::Posture::TIMEOUT ||
                  probe.getIsolation().getStatus() == schema::Posture::TIMEOUT);
    }
  }
  EXPECT_EQ(outcome.getRemoval(), schema::Removal::REMOVED);
  EXPECT_EQ(worker.count("test-instance"), 0U);
}

}  // namespace
}  // namespace factionos::test
