// What engines answer to one and the same create body, compared with what was meant.
#include <string>

#include <gtest/gtest.h>

#include "workers/container/inspect.h"

namespace factionos::container {
namespace {

Spec spec() {
  Spec made;
  made.templateId = "t.x";
  made.image = "factionos-isolated:latest";
  made.argv = {"/bin/true", "x"};
  made.user = 999;
  made.group = 995;
  made.memoryBytes = 64 << 20;
  made.milliCpus = 500;
  made.pids = 32;
  made.openFiles = 256;
  made.temporaryBytes = 1 << 20;
  made.mounts = {{"/srv/demo", kWorkspaceTarget, false}, {"/srv/auth", kAuthTarget, true}};
  made.owner = {"i", "r", "act_Q", 1, 2, "p"};
  return made;
}

constexpr Manner kRootless{Dialect::kPodman, true};

// Podman 4.3.1, rootless, on a machine whose cgroups it may not use: it took the limits and dropped them.
std::string podman() {
  return R"({"Id":"a394af0bdddc58f2af45cdfc8005db0be8d291cc57c135ea1daf77b6c86bf969","Image":"sha256:b584ec781c8)"
         R"(63107c212fdb8ebce7ca022c2d9e983064b092e2dc9d43f6fc500","State":{"Status":"created","Running":false,")"
         R"(Paused":false,"Restarting":false,"OOMKilled":false,"Dead":false,"Pid":0,"ExitCode":0,"Error":"","Sta)"
         R"(rtedAt":"0001-01-01T00:00:00Z","FinishedAt":"0001-01-01T00:00:00Z","Health":{"Status":"","FailingStr)"
         R"(eak":0,"Log":null}},"Mounts":[{"Type":"bind","Source":"/srv/demo","Destination":"/workspace","Mode":)"
         R"("","RW":true,"Propagation":"rprivate"},{"Type":"bind","Source":"/srv/auth","Destination":"/auth","Mo)"
         R"(de":"","RW":false,"Propagation":"rprivate"}],"Config":{"User":"999:995","AttachStdin":false,"AttachS)"
         R"(tdout":false,"AttachStderr":false,"Tty":false,"OpenStdin":false,"StdinOnce":false,"Env":["TMPDIR=/tm)"
         R"(p","LANG=C.UTF-8","FACTIONOS_RUN=r","FACTIONOS_TEMPLATE=t.x","HOME=/tmp","PATH=/usr/local/sbin:/usr/)"
         R"(local/bin:/usr/sbin:/usr/bin:/sbin:/bin","TERM=xterm","container=podman","HOSTNAME=factionos"],"Cmd")"
         R"(:["x"],"Healthcheck":{"Test":["NONE"],"Interval":30000000000,"Timeout":30000000000,"Retries":3},"Ima)"
         R"(ge":"localhost/factionos-isolated:latest","WorkingDir":"/workspace","Entrypoint":["/bin/true"],"Labe)"
         R"(ls":{"org.factionos.action":"act_Q","org.factionos.instance":"i","org.factionos.managed":"1","org.fa)"
         R"(ctionos.owner-pid":"1","org.factionos.owner-start":"2","org.factionos.proof":"p","org.factionos.run")"
         R"(:"r","org.factionos.spec":"6534e9a16915acb56ba26a0dd30e495e","org.factionos.template":"t.x"},"StopSi)"
         R"(gnal":"15","StopTimeout":0},"HostConfig":{"Privileged":false,"CapAdd":[],"CapDrop":["AUDIT_WRITE","C)"
         R"(HOWN","DAC_OVERRIDE","FOWNER","FSETID","KILL","MKNOD","NET_BIND_SERVICE","NET_RAW","SETFCAP","SETGID)"
         R"(","SETPCAP","SETUID","SYS_CHROOT"],"SecurityOpt":["no-new-privileges"],"ReadonlyRootfs":true,"Networ)"
         R"(kMode":"none","IpcMode":"shareable","PidMode":"private","UTSMode":"private","UsernsMode":"private",")"
         R"(CgroupnsMode":"","PublishAllPorts":false,"VolumesFrom":null,"Devices":[],"DeviceCgroupRules":null,"D)"
         R"(eviceRequests":null,"ExtraHosts":[],"PortBindings":{},"Links":null,"Sysctls":null,"GroupAdd":[],"Bin)"
         R"(ds":["/srv/auth:/auth:ro,rprivate,bind","/srv/demo:/workspace:rprivate,bind,rw"],"Memory":0,"MemoryS)"
         R"(wap":0,"OomKillDisable":false,"NanoCpus":0,"PidsLimit":0,"Ulimits":[],"Tmpfs":{"/run":"rw,rprivate,n)"
         R"(osuid,nodev,tmpcopyup","/tmp":"rw,noexec,nosuid,nodev,size=1048576,mode=1777,rprivate,tmpcopyup","/v)"
         R"(ar/tmp":"rw,rprivate,nosuid,nodev,tmpcopyup"},"AutoRemove":false,"RestartPolicy":{"Name":"no","Maxim)"
         R"(umRetryCount":0},"Init":true,"LogConfig":{"Type":"none","Config":null}}})";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string differs(const std::string& text, const Manner& manner = kRootless) {
  const JsonDocument document(text);
  const char* const field = differenceFrom(document.root(), spec(), manner);
  return field == nullptr ? "" : field;
}

// As it is where it may use them.
std::string withLimits() {
  std::string text = replaced(podman(), R"("Memory":0)", R"("Memory":67108864)");
  text = replaced(text, R"("MemorySwap":0)", R"("MemorySwap":67108864)");
  text = replaced(text, R"("NanoCpus":0)", R"("NanoCpus":500000000)");
  text = replaced(text, R"("PidsLimit":0)", R"("PidsLimit":32)");
  return replaced(
      text, R"("Ulimits":[])",
      R"("Ulimits":[{"Name":"RLIMIT_NOFILE","Soft":256,"Hard":256},{"Name":"RLIMIT_CORE","Soft":0,"Hard":0}])");
}

TEST(Dialect, APodmanThatDropsLimitsFailsClosed) {
  EXPECT_EQ(differs(podman()), "Memory");
}

TEST(Dialect, PodmansWordsForTheSameWallsAreKnown) {
  EXPECT_EQ(differs(withLimits()), "");
  EXPECT_NE(differs(withLimits(), {Dialect::kDocker, true}), "") << "and are not Docker's";
}

TEST(Dialect, PodmansOtherWordsAreNot) {
  const std::pair<std::string, std::string> lies[] = {
      {R"("KILL",)", ""},
      {R"("IpcMode":"shareable")", R"("IpcMode":"host")"},
      {R"("PidMode":"private")", R"("PidMode":"host")"},
      {R"("UsernsMode":"private")", R"("UsernsMode":"host")"},
      {R"("/var/tmp":")", R"("/etc":")"},
      {R"(rw,noexec,nosuid)", R"(rw,nosuid)"},
      {R"("RW":false)", R"("RW":true)"},
      {R"("Source":"/srv/demo")", R"("Source":"/srv")"},
      {R"("User":"999:995")", R"("User":"0:0")"},
      {R"("SecurityOpt":["no-new-privileges"])", R"("SecurityOpt":["seccomp=unconfined"])"},
  };
  for (const auto& [from, to] : lies) EXPECT_NE(differs(replaced(withLimits(), from, to)), "") << to;
}

TEST(Body, NamesNothingOfACallersAndNoShell) {
  const std::string body = createBody(spec(), {});
  const JsonDocument document(body);
  ASSERT_TRUE(document.root());
  const MaybeElement host = member(document.root(), "HostConfig");
  EXPECT_EQ(boolOf(member(host, "Privileged")), false);
  EXPECT_EQ(textsOf(member(document.root(), "Entrypoint"))->size(), 1U);
  EXPECT_EQ(textOf(member(host, "UsernsMode")), "");
  const JsonDocument rootless(createBody(spec(), kRootless));
  EXPECT_EQ(textOf(member(member(rootless.root(), "HostConfig"), "UsernsMode")), "keep-id");
}

TEST(Owner, ANameIsMadeOfItsActionAlone) {
  EXPECT_EQ(spec().owner.name(), "factionos-act-q");
  Owner other = spec().owner;
  other.pid = 77;
  EXPECT_TRUE(spec().owner.owns(other)) << "the process may be another by now";
  other.proof = "q";
  EXPECT_FALSE(spec().owner.owns(other));
}

}  // namespace
}  // namespace factionos::container
