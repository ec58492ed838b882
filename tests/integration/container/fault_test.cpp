// The worker against an engine that is slow, lies, drops what it was told, dies, or is none.
#include <algorithm>
#include <atomic>
#include <functional>

#include <gtest/gtest.h>

#include "container_harness.h"
#include "fake_engine.h"
#include "protocol/text.h"

namespace factionos::test {
namespace {

// Local to each test: KJ wants its loop on the stack.
struct Faults {
  Broker broker;
  FakeEngine engine;
  EngineWorker worker{broker, engine.socketPath()};

  std::string run(const RunSpec& spec = {}) {
    EngineRun run = worker.start(spec);
    return run.denial.empty() ? text(run.end()) : run.denial;
  }
};

std::size_t indexOf(const std::vector<std::string>& calls, const std::string& what) {
  return static_cast<std::size_t>(std::find(calls.begin(), calls.end(), what) - calls.begin());
}

// Everywhere: what inspect tells has the body twice.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

// H1: attached, waited for and looked at before it starts.
TEST(ContainerFaults, H1_TheOrderIsCreateAttachWaitStart) {
  Faults f;
  f.engine.behaveWell(frame(1, "hi\n") + frame(2, "oh\n"), 7);
  EngineRun run = f.worker.start({});
  const auto outcome = run.end();
  EXPECT_EQ(text(outcome), "exited");
  EXPECT_EQ(outcome.getExitCode(), 7);
  EXPECT_EQ(run.heard->out, "hi\n");
  EXPECT_EQ(run.heard->errors, "oh\n");
  EXPECT_EQ(outcome.getRemoval(), schema::Removal::REMOVED);
  EXPECT_TRUE(f.engine.isGone());
  const auto calls = f.engine.calls();
  const auto inOrder = [&calls](const std::vector<std::string>& order) {
    for (std::size_t i = 1; i < order.size(); ++i)
      EXPECT_LT(indexOf(calls, order[i - 1]), indexOf(calls, order[i])) << order[i];
  };
  inOrder({"POST /containers/create", "POST /containers/ID/attach", "POST /containers/ID/wait",
           "POST /containers/ID/start", "DELETE /containers/ID"});
  inOrder({"POST /containers/create", "GET /containers/ID/json", "POST /containers/ID/start"});
}

TEST(ContainerFaults, FramesMayBeCutAnywhere) {
  Faults f;
  const std::string whole =
      frame(1, "first ") + frame(2, "error") + frame(1, std::string(70'000, 'x')) + frame(1, "end");
  for (const std::size_t piece : {1UL, 2UL, 7UL, 8UL, 9UL, 4096UL}) {
    f.engine.on("POST /containers/ID/attach", [&](const FakeEngine::Call& call) {
      call.sendCut("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n" + whole, piece);
    });
    EngineRun run = f.worker.start({});
    EXPECT_EQ(text(run.end()), "exited") << piece;
    EXPECT_EQ(run.heard->out, "first " + std::string(70'000, 'x') + "end") << piece;
    EXPECT_EQ(run.heard->errors, "error") << piece;
    EXPECT_EQ(run.heard->totalBytes, run.heard->out.size() + run.heard->errors.size());
  }
}

TEST(ContainerFaults, WhatIsNoStreamOfFramesIsReadAndNotShown) {
  Faults f;
  for (const std::string& garbage :
       {std::string("\x07\0\0\0\0\0\0\1x", 9), std::string("\1\1\0\0\0\0\0\1x", 9),
        std::string("plain text that goes on"), frame(3, "the engine's own"),
        std::string("\1\0\0\0\x7f\xff\xff\xffx", 9)}) {
    f.engine.on("POST /containers/ID/attach", [&](const FakeEngine::Call& call) {
      call.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n" + frame(1, "good") +
                garbage + frame(1, "never"));
    });
    EngineRun run = f.worker.start({});
    const auto outcome = run.end();
    EXPECT_EQ(text(outcome), "exited/output_unreadable");
    EXPECT_EQ(run.heard->out, "good");
    EXPECT_EQ(outcome.getTotalBytes(), 4 + outcome.getDroppedBytes());
    EXPECT_GT(outcome.getDroppedBytes(), 0U);
  }
  f.engine.on("POST /containers/ID/attach", [](const FakeEngine::Call& call) {
    call.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n" +
              frame(1, "good").substr(0, 10));
  });
  EngineRun cut = f.worker.start({});
  EXPECT_EQ(text(cut.end()), "exited/output_unreadable");
  f.engine.behaveWell(frame(1, "good"));
  EngineRun whole = f.worker.start({});
  EXPECT_EQ(text(whole.end()), "exited") << "the control";
}

// Engines drop what they don't know, and older ones know less: nothing runs that is not as it was meant.
TEST(ContainerFaults, WhatTheEngineDroppedOrChangedIsNotStarted) {
  Faults f;
  const std::vector<std::pair<std::string, std::string>> lies = {
      {R"("ReadonlyRootfs":true)", R"("ReadonlyRootfs":false)"},
      {R"("ReadonlyRootfs":true,)", ""},
      {R"("CapDrop":["ALL"])", R"("CapDrop":null)"},
      {R"("CapDrop":["ALL"])", R"("CapDrop":["NET_RAW"])"},
      {R"("CapAdd":[])", R"("CapAdd":["SYS_ADMIN"])"},
      {R"("SecurityOpt":["no-new-privileges"])", R"("SecurityOpt":[])"},
      {R"("SecurityOpt":["no-new-privileges"])",
       R"("SecurityOpt":["no-new-privileges","seccomp=unconfined"])"},
      {R"("Privileged":false)", R"("Privileged":true)"},
      {R"("NetworkMode":"none")", R"("NetworkMode":"host")"},
      {R"("IpcMode":"none")", R"("IpcMode":"host")"},
      {R"("PidMode":"")", R"("PidMode":"host")"},
      {R"("UsernsMode":"")", R"("UsernsMode":"host")"},
      {R"("PidsLimit":32)", R"("PidsLimit":null)"},
      {R"("Memory":67108864)", R"("Memory":0)"},
      {R"("MemorySwap":67108864)", R"("MemorySwap":-1)"},
      {R"("NanoCpus":500000000)", R"("NanoCpus":0)"},
      {R"("Init":true)", R"("Init":null)"},
      {R"("Devices":[])", R"("Devices":[{"PathOnHost":"/dev/sda"}])"},
      {R"("VolumesFrom":[])", R"("VolumesFrom":["x"])"},
      {R"("Binds":[])", R"("Binds":["/:/host"])"},
      {R"("Type":"none")", R"("Type":"json-file")"},
      {R"("Name":"core","Soft":0)", R"("Name":"core","Soft":1)"},
      {R"(noexec,nosuid)", R"(exec,nosuid)"},
      {R"("Mounts":[],"State")", R"("Mounts":[{"Type":"volume","Destination":"/data","RW":true}],"State")"},
      {R"("User":")", R"("User":"0)"},
      {R"("Entrypoint":["/bin/true"])", R"("Entrypoint":["/bin/sh"])"},
      {R"("Cmd":[])", R"("Cmd":["-c","x"])"},
      {R"(FACTIONOS_RUN=)", R"(LD_PRELOAD=)"},
      {R"("org.factionos.proof":"proof)", R"("org.factionos.proof":"other)"},
  };
  for (const auto& [from, to] : lies) {
    f.engine.on("GET /containers/ID/json", [&f, &from = from, &to = to](const FakeEngine::Call& call) {
      if (f.engine.isGone()) return call.reply(404, "{}");
      call.reply(200, replaced(f.engine.inspected(), from, to));
    });
    EXPECT_EQ(f.run(), "not_started/not_as_meant") << to;
    EXPECT_TRUE(f.engine.isGone()) << to;
  }
  EXPECT_EQ(f.engine.calls("POST /containers/ID/start"), 0U);
  f.engine.behaveWell();
  EXPECT_EQ(f.run(), "exited") << "the control: nothing was changed";
}

TEST(ContainerFaults, AnAnswerThatIsNoneIsNoSuccess) {
  Faults f;
  const std::vector<std::pair<std::string, std::string>> answers = {
      {"HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\n{}", "not_started/engine_refused"},
      {"HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\n{}", "not_started/image_missing"},
      {"HTTP/1.1 400 X\r\nContent-Length: 29\r\n\r\n{\"message\":\"bad mount config\"}"
       "                                     ",
       "not_started/mount_refused"},
      {"HTTP/1.1 201 X\r\nContent-Length: 2\r\n\r\n{}", "not_started/engine_unavailable"},
      {"HTTP/1.1 201 X\r\nContent-Length: 9999999\r\n\r\n{}", "not_started/engine_unavailable"},
      {"HTTP/1.1 201 X\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", "not_started/engine_unavailable"},
      {"SSH-2.0-OpenSSH\r\n", "not_started/engine_unavailable"},
      {std::string(20'000, 'x'), "not_started/engine_unavailable"},
      {"HTTP/1.1 201 X\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", "not_started/engine_unavailable"},
      {"", "not_started/engine_unavailable"},
  };
  for (const auto& [answer, told] : answers) {
    f.engine.on("POST /containers/create",
                [&answer = answer](const FakeEngine::Call& call) { call.send(answer); });
    EXPECT_EQ(f.run(), told) << answer.substr(0, 80);
  }
  EXPECT_EQ(f.engine.calls("POST /containers/ID/start"), 0U);
}

// The connection is lost after the engine made it: it is looked for by its name, and goes.
TEST(ContainerFaults, WhatACreateLeftWhoseAnswerWasLostIsRemoved) {
  Faults f;
  f.engine.on("POST /containers/create", [&f](const FakeEngine::Call& call) {
    f.engine.behaveWell();  // from now on: and as it would have made it
    call.reply(201, std::string(R"({"Id":")") + FakeEngine::kId);
  });
  EXPECT_EQ(f.run(), "not_started/engine_unavailable");
  EXPECT_GE(f.engine.calls("GET /containers/ID/json"), 1U);
  EXPECT_TRUE(f.engine.isGone());
}

TEST(ContainerFaults, H5_ANameThatIsNotOursIsLeftAlone) {
  Faults f;
  RunSpec first;
  first.action = "act_same";
  f.engine.on("POST /containers/ID/start", [&f](const FakeEngine::Call& call) {
    f.engine.state("running");
    call.reply(204, "");
  });
  EngineRun running = f.worker.start(first);
  ASSERT_TRUE(running.started());
  EXPECT_EQ(f.worker.start(first).denial, "run_active/once_for_an_action");
  EXPECT_EQ(f.worker.settle(first), "run_active/once_for_an_action");

  // Another worker of another broker, by the same name.
  EngineWorker stranger(f.broker, f.engine.socketPath());
  RunSpec theirs = first;
  theirs.proof = "another-proof";
  EngineRun refused = stranger.start(theirs);
  EXPECT_EQ(text(refused.end()), "not_started/name_taken");
  EXPECT_EQ(stranger.settle(theirs), "foreign");
  theirs = first;
  theirs.argv = {"/bin/false"};
  EngineRun changed = stranger.start(theirs);
  EXPECT_EQ(text(changed.end()), "not_started/name_taken") << "ours, and not of this spec";
  EXPECT_FALSE(f.engine.isGone());
  EXPECT_EQ(f.engine.calls("DELETE /containers/ID"), 0U);
  EXPECT_EQ(stranger.settle(first), "removed") << "its owner's, though another process";
}

TEST(ContainerFaults, H5_ARetryAdoptsWhatItsEarlierTryMade) {
  Faults f;
  RunSpec spec;
  spec.action = "act_again";
  f.engine.behaveWell({}, 5);
  f.engine.on("POST /containers/ID/start", [&f](const FakeEngine::Call& call) {
    f.engine.state("running");
    call.reply(204, "");
  });
  EngineRun lost = f.worker.start(spec);
  ASSERT_TRUE(lost.started());
  f.worker.killWorker();
  f.engine.state("exited");
  EngineWorker again(f.broker, f.engine.socketPath());
  EngineRun adopted = again.start(spec);
  const auto outcome = adopted.end();
  EXPECT_EQ(text(outcome), "exited");
  EXPECT_TRUE(outcome.getAdopted());
  EXPECT_EQ(outcome.getExitCode(), 5) << "never run twice: how it ended is told";
  EXPECT_EQ(f.engine.calls("POST /containers/ID/start"), 1U);
  EXPECT_TRUE(f.engine.isGone());
}

TEST(ContainerFaults, TheExitCodeIsNeverMadeUp) {
  Faults f;
  // The engine forgets it, and then is gone: not known is not 0.
  f.engine.on("POST /containers/ID/start", [&f](const FakeEngine::Call& call) {
    f.engine.on("GET /containers/ID/json", [](const FakeEngine::Call& each) { each.reply(404, "{}"); });
    f.engine.on("POST /containers/ID/wait",
                [](const FakeEngine::Call& each) { each.reply(200, R"({"StatusCode":0})"); });
    f.engine.state("exited");
    call.reply(204, "");
  });
  EngineRun run = f.worker.start({});
  const auto outcome = run.end();
  EXPECT_EQ(text(outcome), "lost/engine_unavailable");
  EXPECT_EQ(outcome.getExitCode(), -1);
}

// Docker 20.10 answers at once where it is asked for the wrong condition: only what inspect says counts.
TEST(ContainerFaults, AWaitThatAnswersTooEarlyIsNotTheEnd) {
  Faults f;
  f.engine.behaveWell({}, 3);
  f.engine.on("POST /containers/ID/wait",
              [](const FakeEngine::Call& call) { call.reply(200, R"({"StatusCode":0})"); });
  f.engine.on("POST /containers/ID/start", [&f](const FakeEngine::Call& call) {
    f.engine.state("running");
    call.reply(204, "");
  });
  EngineRun run = f.worker.start({});
  ASSERT_TRUE(run.started());
  f.broker.wait(f.broker.loop.timer().afterDelay(300 * kj::MILLISECONDS));
  f.engine.state("exited");
  const auto outcome = run.end();
  EXPECT_EQ(text(outcome), "exited");
  EXPECT_EQ(outcome.getExitCode(), 3);
}

TEST(ContainerFaults, H14_AKillWorksAtEveryStepAndTwice) {
  Faults f;
  for (const char* step : {"POST /containers/create", "GET /containers/ID/json", "POST /containers/ID/attach",
                           "POST /containers/ID/start"}) {
    f.engine.behaveWell();
    std::atomic<bool> reached = false;
    f.engine.on(step, [&](const FakeEngine::Call& call) {
      reached = true;
      call.pause(300);
      f.engine.behaveWell();
      if (std::string(step) == "POST /containers/create") return call.reply(500, "{}");
      if (std::string(step) == "GET /containers/ID/json") return call.reply(200, f.engine.inspected());
      call.reply(500, "{}");
    });
    EngineRun run = f.worker.start({});
    for (int i = 0; i < 500 && !reached; ++i)
      f.broker.wait(f.broker.loop.timer().afterDelay(5 * kj::MILLISECONDS));
    run.kill();
    run.kill();
    const auto outcome = run.end();
    EXPECT_TRUE(outcome.getEnd() == schema::ContainerEnd::KILLED ||
                outcome.getEnd() == schema::ContainerEnd::NOT_STARTED)
        << step;
    EXPECT_TRUE(f.engine.isGone()) << step;
    run.kill();
  }
}

TEST(ContainerFaults, DroppingARunEndsItsContainer) {
  Faults f;
  f.engine.on("POST /containers/ID/start", [&f](const FakeEngine::Call& call) {
    f.engine.state("running");
    call.reply(204, "");
  });
  EngineRun run = f.worker.start({});
  ASSERT_TRUE(run.started());
  run.run = rpc::kNone;
  for (int i = 0; i < 500 && !f.engine.isGone(); ++i)
    f.broker.wait(f.broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
  EXPECT_TRUE(f.engine.isGone());
  EXPECT_EQ(f.engine.calls("POST /containers/ID/kill"), 1U);
}

// It says that it runs, whatever is done to it.
TEST(ContainerFaults, AnEngineThatEndsNothingHoldsNobodyForEver) {
  Faults f;
  f.engine.on("POST /containers/ID/start", [&f](const FakeEngine::Call& call) {
    f.engine.state("running");
    call.reply(204, "");
  });
  f.engine.on("POST /containers/ID/kill", [](const FakeEngine::Call& call) { call.reply(204, ""); });
  f.engine.on("DELETE /containers/ID", [](const FakeEngine::Call& call) { call.reply(500, "{}"); });
  RunSpec spec;
  spec.timeoutMs = 100;
  spec.graceMs = 100;
  EngineRun run = f.worker.start(spec);
  const auto outcome = run.end();
  EXPECT_EQ(outcome.getEnd(), schema::ContainerEnd::TIMED_OUT);
  EXPECT_EQ(outcome.getExitCode(), -1);
  EXPECT_EQ(outcome.getRemoval(), schema::Removal::LEFT);
}

// H3: who reads slowly makes nobody wait; what is dropped is counted.
TEST(ContainerFaults, H3_ASlowReaderHoldsNothingUp) {
  Faults f;
  const std::string piece = frame(1, std::string(65'000, 'x'));
  f.engine.on("POST /containers/ID/attach", [&](const FakeEngine::Call& call) {
    call.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    for (int i = 0; i < 200; ++i) call.send(piece);
  });
  EngineRun run = f.worker.start({});
  run.heard->pace = 20 * kj::MILLISECONDS;
  const auto outcome = run.end();
  EXPECT_EQ(text(outcome), "exited");
  EXPECT_EQ(outcome.getTotalBytes(), 200U * 65'000U);
  EXPECT_GT(outcome.getDroppedBytes(), 0U);
  EXPECT_EQ(run.heard->out.size() + outcome.getDroppedBytes(), outcome.getTotalBytes());
}

TEST(ContainerFaults, ASpecThatIsNoneIsRefusedBeforeTheEngineHearsOfIt) {
  Faults f;
  const auto refused = [&](const std::function<void(schema::ContainerSpec::Builder)>& spoil) {
    auto request = f.worker.containers.runRequest();
    fill(request.initSpec(), {.workspace = "/srv/x"});
    spoil(request.getSpec());
    return denialText(f.worker.call(request).getDenial());
  };
  EXPECT_EQ(refused([](auto spec) { spec.setUser(0); }), "spec_invalid/user");
  EXPECT_EQ(refused([](auto spec) { spec.setGroup(0); }), "spec_invalid/group");
  EXPECT_EQ(refused([](auto spec) { spec.setImage("Evil Image"); }), "spec_invalid/image");
  EXPECT_EQ(refused([](auto spec) { spec.setImage("x/../../y"); }), "spec_invalid/image");
  EXPECT_EQ(refused([](auto spec) { spec.setImage("a?b=c"); }), "spec_invalid/image");
  EXPECT_EQ(refused([](auto spec) { spec.setImageId("sha256:abc"); }), "spec_invalid/imageId");
  EXPECT_EQ(refused([](auto spec) { spec.initArgv(0); }), "spec_invalid/argv");
  EXPECT_EQ(refused([](auto spec) { spec.initArgv(65); }), "spec_invalid/argv");
  EXPECT_EQ(refused([](auto spec) { spec.getLimits().setPids(0); }), "spec_invalid/pids");
  EXPECT_EQ(refused([](auto spec) { spec.getLimits().setMemoryBytes(0); }), "spec_invalid/memoryBytes");
  EXPECT_EQ(refused([](auto spec) { spec.getLimits().setTimeoutMs(0); }), "spec_invalid/timeoutMs");
  EXPECT_EQ(refused([](auto spec) { spec.setNetwork(static_cast<schema::ContainerNetwork>(9)); }),
            "spec_invalid/network");
  for (const char* path : {"relative", "/", "/a/../b", "/a/", "/a//b", "/a/./b", "/.."})
    EXPECT_EQ(refused([path](auto spec) { spec.getMounts()[0].setSource(path); }), "spec_invalid/source")
        << path;
  EXPECT_EQ(refused([](auto spec) { spec.getMounts()[0].setRole(schema::MountRole::UNSPECIFIED); }),
            "spec_invalid/role");
  EXPECT_EQ(refused([](auto spec) { spec.getOwner().setInstance("a\",\"b"); }), "spec_invalid/instance");
  EXPECT_EQ(refused([](auto spec) { spec.getOwner().setAction("../x"); }), "spec_invalid/action");
  EXPECT_TRUE(f.engine.calls().empty());
}

TEST(ContainerFaults, H12_TheVersionIsAgreedOnOrTheProbeSaysWhyNot) {
  Faults f;
  const auto probed = [&](const std::string& version) {
    EngineWorker fresh(f.broker, f.engine.socketPath());
    f.engine.on("GET /version", [version](const FakeEngine::Call& call) { call.reply(200, version); });
    auto request = fresh.containers.probeRequest();
    request.setImage("factionos-isolated:latest");
    request.setInstance("i");
    auto response = fresh.call(request);
    const auto probe = response.getProbe();
    return std::string(view(probe.getApiVersion())) + "/" + std::string(view(probe.getEngine().getReason()));
  };
  EXPECT_EQ(probed(R"({"ApiVersion":"1.41","MinAPIVersion":"1.12"})"), "1.41/");
  EXPECT_EQ(probed(R"({"ApiVersion":"1.41"})"), "1.41/");
  EXPECT_EQ(probed(R"({"ApiVersion":"1.56","MinAPIVersion":"1.44"})"), "1.52/");
  EXPECT_EQ(probed(R"({"ApiVersion":"1.99","MinAPIVersion":"1.60"})"), "/engine_too_new");
  EXPECT_EQ(probed(R"({"ApiVersion":"1.40","MinAPIVersion":"1.12"})"), "/engine_too_old");
  EXPECT_EQ(probed(R"({"ApiVersion":"1.","MinAPIVersion":"x"})"), "/not_an_engine");
  EXPECT_EQ(probed(R"(nonsense)"), "/not_an_engine");
  EXPECT_EQ(probed(R"({"Components":[{"Name":"Podman Engine"}],"ApiVersion":"1.41"})"),
            "1.41/another_engine");
}

TEST(ContainerFaults, EachPartOfAProbeHasItsOwnTime) {
  Faults f;
  f.engine.on("GET /networks/factionos-egress", [](const FakeEngine::Call& call) { call.hold(); });
  f.engine.on("GET /images/factionos-isolated:latest/json",
              [](const FakeEngine::Call& call) { call.send("HTTP/1."); });
  f.engine.on("GET /containers/json", [](const FakeEngine::Call& call) { call.reply(200, "[]"); });
  auto request = f.worker.containers.probeRequest();
  request.setImage("factionos-isolated:latest");
  request.setInstance("i");
  const auto begun = f.broker.loop.timer().now();
  auto response = f.worker.call(request);
  EXPECT_LT(f.broker.loop.timer().now() - begun, 5 * kj::SECONDS);
  const auto probe = response.getProbe();
  EXPECT_EQ(probe.getEngine().getStatus(), schema::Posture::AVAILABLE);
  EXPECT_EQ(probe.getIsolation().getStatus(), schema::Posture::AVAILABLE);
  EXPECT_TRUE(probe.getRootless());
  EXPECT_EQ(probe.getEgress().getStatus(), schema::Posture::TIMEOUT);
  EXPECT_EQ(probe.getImage().getStatus(), schema::Posture::UNAVAILABLE);
  EXPECT_EQ(probe.getCleanup().getStatus(), schema::Posture::AVAILABLE);
}

TEST(ContainerFaults, AnEngineThatHangsByNowIsNotAvailable) {
  Faults f;
  f.engine.on("GET /containers/json", [](const FakeEngine::Call& call) { call.reply(200, "[]"); });
  const auto probed = [&f]() {
    auto request = f.worker.containers.probeRequest();
    request.setImage("factionos-isolated:latest");
    request.setInstance("i");
    const auto response = f.worker.call(request);
    const auto engine = response.getProbe().getEngine();
    return std::pair(engine.getStatus(), std::string(view(engine.getReason())));
  };
  EXPECT_EQ(probed().first, schema::Posture::AVAILABLE) << "the control";
  f.engine.on("GET /version", [](const FakeEngine::Call& call) { call.hold(); });
  EXPECT_EQ(probed(), std::pair(schema::Posture::TIMEOUT, std::string("engine_timeout")));
}

TEST(ContainerFaults, AListHoldsOnlyWhatCarriesOurLabels) {
  Faults f;
  const std::string ours =
      R"({"Id":")" + std::string(FakeEngine::kId) +
      R"(","State":"running","Labels":{"org.factionos.managed":"1","org.factionos.instance":"i","org.factionos.run":"r","org.factionos.action":"a","org.factionos.owner-pid":"5","org.factionos.owner-start":"6","org.factionos.proof":"p"}})";
  const std::string foreign =
      replaced(ours, R"("org.factionos.instance":"i")", R"("org.factionos.instance":"j")");
  const std::string broken =
      replaced(ours, R"("org.factionos.owner-pid":"5")", R"("org.factionos.owner-pid":"-5")");
  const std::string noId = replaced(ours, FakeEngine::kId, "../../x");
  f.engine.on("GET /containers/json", [&](const FakeEngine::Call& call) {
    call.reply(200, "[" + foreign + "," + broken + "," + noId + ",5,null," + ours + "]");
  });
  EXPECT_EQ(f.worker.count("i"), 1U);
}

TEST(ContainerFaults, NoEngineIsToldAsNone) {
  Broker own;
  EngineWorker nobody(own, "/nonexistent/engine.sock");
  EngineRun run = nobody.start({});
  const auto outcome = run.end();
  EXPECT_EQ(text(outcome), "not_started/engine_unavailable");
  EXPECT_EQ(outcome.getRemoval(), schema::Removal::UNSPECIFIED) << "nothing was made";
}

}  // namespace
}  // namespace factionos::test
