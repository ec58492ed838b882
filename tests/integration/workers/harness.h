// Plays the broker: starts the real launcher as the broker does, and runs commands through the real session
// and pty worker.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/launcher.capnp.h"
#include "protocol/schemas/pty.capnp.h"
#include "protocol/schemas/session.capnp.h"

namespace factionos::test {

// Longer than anything healthy takes, also on a loaded machine.
inline constexpr kj::Duration kLong = 30 * kj::SECONDS;

// The product never runs as root. A test program started by root becomes another user for good, before
// anything else.
void becomeOrdinaryUser();

// What a machine lacks, made by a filter or a limit on the launcher and all below it.
enum class Kernel {
  kAsItIs,
  kNoUserNamespaces,  // user.max_user_namespaces = 0 in the user namespace that the launcher lives in
  kNoPidNamespaces,   // user.max_pid_namespaces = 0 there: the other kinds are to be had
  kNoMountNamespaces,
  kNoLandlock,     // its calls answer ENOSYS
  kLandlock5,      // Landlock of ABI 5, which scopes neither signals nor abstract sockets; and no namespaces
  kListenerTaken,  // a filter around has a listener, as under WSL 2: another one is refused with EBUSY
};

// The namespaces that a command gets: all that this machine's kernel allows, or none by CommandSpec.
enum class Story { kNamespaces, kForbidden };

// Whether the kernel lets an ordinary user have a user and a mount namespace here.
bool hasNamespaces();

// Directories of one test: a workspace, a home of FactionOS, a scratch directory. Removed at the end.
class World {
 public:
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::string workspace;
  std::string home;
  std::string scratch;
  std::string outside;  // a sibling of the workspace, of the same user

  void write(const std::string& path, const std::string& content, mode_t mode = 0644) const;
  static std::string read(const std::string& path);
  static bool exists(const std::string& path);

 private:
  std::string root_;
};

struct CommandLine {
  std::vector<std::string> argv;
  std::string shell;
  schema::NetworkProfile network = schema::NetworkProfile::NONE;
  Story story = Story::kNamespaces;
  std::vector<std::string> environment;
  std::vector<std::string> programPaths;
  std::vector<std::string> readPaths;
  std::uint16_t apiPort = 0;
};

CommandLine argv(std::vector<std::string> words, Story story = Story::kNamespaces);
CommandLine shell(std::string line, Story story = Story::kNamespaces);

struct Result {
  std::string denial;  // code/rule/target of prepare or start; empty if it ran
  int code = -1;
  int signal = 0;
  schema::EndReason reason = schema::EndReason::UNSPECIFIED;
  std::string output;
  std::uint64_t toldBytes = 0;  // by OutputSink.end
  std::vector<std::string> posture;
  std::uint64_t maxRssBytes = 0;
  std::uint32_t peakProcesses = 0;
  std::map<std::string, std::uint64_t> denials;  // "operation target source": how often
};

class Broker;

// A session with its terminal attached.
class Running {
 public:
  Running(Broker& broker, const CommandLine& command, schema::Limits::Reader limits);

  [[nodiscard]] bool started() const { return result.denial.empty(); }
  // Until `text` has been printed; fails the test otherwise.
  void expectOutput(const std::string& text);
  [[nodiscard]] const std::string& output() const;  // so far
  std::string input(const std::string& data);       // the denial's code, or empty
  std::string inputTarget;
  std::string resize(std::uint16_t columns, std::uint16_t rows);
  std::string signal(int number);
  void kill();
  // Until the tree is gone and the terminal drained.
  Result& finish();

  Result result;
  schema::Session::Client session = nullptr;
  kj::Maybe<schema::Worker::Client> sessionWorker;
  kj::Maybe<schema::Worker::Client> ptyWorker;
  kj::Maybe<schema::Terminal::Client> terminal;
  kj::Own<rpc::Connection> ptyLine;
  // Drops every capability of it.
  void drop();

 private:
  friend class Sink;
  struct Drained;
  Broker& broker_;
  std::shared_ptr<Drained> drained_;
};

class Broker {
 public:
  explicit Broker(Kernel kernel = Kernel::kAsItIs);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  template <typename T>
  T wait(kj::Promise<T> promise) {
    return promise
        .exclusiveJoin(loop.timer().afterDelay(kLong).then(
            []() -> kj::Promise<T> { return KJ_EXCEPTION(OVERLOADED, "a test waited in vain"); }))
        .wait(loop.waitScope());
  }

  // prepare alone.
  struct PreparedAnswer {
    std::string denial;
    std::string program;
    std::string label;
    std::vector<std::pair<std::string, std::string>> digests;  // label, hex
    bool interactive = false;
    schema::Session::Client session = nullptr;
    kj::Maybe<schema::Worker::Client> worker;
  };
  PreparedAnswer prepare(const CommandLine& command);
  Result run(const CommandLine& command);
  std::unique_ptr<Running> start(const CommandLine& command);
  std::unique_ptr<Running> start(const CommandLine& command, schema::Limits::Reader limits);
  // A pty worker, attached to nothing.
  struct PtyWorker {
    schema::Pty::Client pty = nullptr;
    kj::Maybe<schema::Worker::Client> worker;
    kj::Own<rpc::Connection> line;
  };
  PtyWorker startPty();

  void closeLine();

  World world;

 private:
  struct Launched {
    pid_t pid = 0;
    rpc::OwnFd line;
  };
  static Launched launch(Kernel kernel, const World& world);
  Launched launched_;  // before there is a loop

 public:
  pid_t launcherPid = 0;
  rpc::Loop loop;  // KJ wants it on the stack, and so the broker
  kj::Own<rpc::Connection> line;
  schema::Launcher::Client launcher = nullptr;
};

// What a process of ours holds open, "number target" sorted by number. Our processes are not dumpable, so
// root alone can look; a test program that root started keeps a helper for it. Nothing where there is none.
std::optional<std::vector<std::string>> descriptorsOf(pid_t pid);

// Writes `content` into `path` as it is and makes it another user's, whose uid nobody else has here. False
// where root does not help.
bool writeAsAnother(const std::string& path, const std::string& content);
// Makes what lies there that user's, and leaves it open to all, so that it can be removed.
bool giveToAnother(const std::string& path);

// All living descendants of this process (which is a subreaper), zombies excepted.
std::vector<pid_t> descendants();
// Waits until there are none; the test fails with what is left.
void expectNothingAlive();
std::vector<pid_t> childrenOf(pid_t parent);
// Names of programs, "/proc/PID/comm".
std::string nameOf(pid_t pid);

// Whether nobody listens on this TCP port of 127.0.0.1.
bool refusesConnections(std::uint16_t port);

std::string denialText(schema::Denial::Reader denial);

// Whether a session finds a program of that name.
bool hasProgram(const std::string& name);

// Skips, or fails where FACTIONOS_REQUIRE_ALL=1 says that this machine must have everything.
bool lacks(const char* feature);

// A test of both stories, or of the one with namespaces, which skips aloud where the kernel refuses them.
class StoryTest : public testing::TestWithParam<Story> {
 protected:
  void SetUp() override {
    if (GetParam() == Story::kNamespaces && !hasNamespaces() && lacks("user namespaces")) GTEST_SKIP();
  }
};
std::string storyName(const testing::TestParamInfo<Story>& info);

}  // namespace factionos::test
