#include "tests/canary/sweep.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace factionos::test {
namespace {

constexpr const char* kSecret = "a value in tokens/";

// Programs of ours below the broker; whatever else is there is a user's command.
const std::set<std::string> kOurs{"factionosd", "launcher", "front", "session", "pty", "file", "git"};

std::string nameOf(pid_t pid) {
  auto name = readFile("/proc/" + std::to_string(pid) + "/comm");
  if (!name.empty()) name.pop_back();
  return name;
}

// What exists at no boundary yet: hooks, archives and a hosted side are later families.
bool isThere(Boundary boundary) {
  switch (boundary) {
    case Boundary::kHookOutput:
    case Boundary::kArchiveBackup:
    case Boundary::kHostedTransfer:
      return false;
    case Boundary::kApiResponse:
    case Boundary::kApiError:
    case Boundary::kWebSocketFrame:
    case Boundary::kCli:
    case Boundary::kLog:
    case Boundary::kAudit:
    case Boundary::kStateAtRest:
    case Boundary::kExportReplay:
    case Boundary::kWorkerTransfer:
      return true;
  }
  return true;
}

void wantCores() {
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_CORE, &limit);
}

}  // namespace

// A container worker that needs no engine, so that what is asked of the family gets as far as it can.
constexpr const char* kTemplates =
    "[[template]]\nid = \"echo\"\nimage = \"stand-in:canary\"\ncommand = [\"/script\", \"echo\", \"x\"]\n\n";

Sweep::Sweep()
    : broker_({.engine = "/run/stand-in.sock",
               .config = kTemplates,
               .broker = FACTIONOS_STAND_IN,
               .environment = {"CANARY=" + canaries_.plant(Category::kEnvMap, "the broker's environment"),
                               "GIT_SSH_COMMAND=" + canaries_.plant(Category::kEnvMap, "a git variable")}}) {}

void Sweep::SetUp() {
  wantCores();
  broker_.stop();
  const auto secret = canaries_.plant(Category::kToken, kSecret);
  writeFile(broker_.home() + "/tokens/deploy", secret + "\n");
  ::chmod((broker_.home() + "/tokens/deploy").c_str(), 0600);
  const auto config = broker_.home() + "/config.toml";
  auto text = readFile(config);
  const std::string table = "\n[audit]\n";
  ASSERT_NE(text.find(table), text.npos);
  writeFile(config, text.insert(text.find(table) + table.size(), "anchor = \"" + root() + "/anchor\"\n"));
  const auto key = readFile(broker_.home() + "/operator.key");
  ASSERT_NE(key.find("secret: "), key.npos) << "where the key lies has changed";
  canaries_.know(Category::kToken, key.substr(key.find("secret: ") + 8, 40), "operator.key");
  canaries_.know(Category::kWorkspacePath, broker_.workspace(), "the workspace's path");
  canaries_.know(Category::kBroadPath, broker_.home(), "the home's path");
  broker_.start();
  ASSERT_FALSE(HasFatalFailure());
  token_ = broker_.token("ingest,read,propose,approve,admin", "agent");
  ASSERT_FALSE(token_.empty());
  canaries_.know(Category::kToken, token_, "the agent's token");
  socket_ = broker_.home() + "/run/api.sock";
  events_ = std::make_unique<StreamReader>(socket_, StreamReader::Kind::kServerSentEvents, token_);
  frames_ = std::make_unique<StreamReader>(socket_, StreamReader::Kind::kWebSocket, token_);
  watcher_ = std::thread([this]() { watchProcesses(); });
}

void Sweep::TearDown() {
  stopWatching();
  if (HasFatalFailure()) return;
  screen({"audit", "verify"});
  const auto exported = broker_.cli({"audit", "export"});
  EXPECT_EQ(exported.status, 0);
  search(exported.out + exported.err, {Boundary::kExportReplay, {}}, "audit export");
  for (const char* target : {"/v1/diagnostics", "/v1/command-center", "/v1/actions", "/v1/terminal/sessions",
                             "/v1/audit", "/v1/audit/verify", "/metrics"})
    get(target);
  EXPECT_EQ(get("/v1/nothing").status, 404);
  searchFiles("served:");
  const auto events = events_->stop();
  const auto frames = frames_->stop();
  EXPECT_NE(events.find("revision"), events.npos) << "the events showed nothing";
  EXPECT_NE(frames.find("revision"), frames.npos) << "the frames showed nothing";
  search(events, {Boundary::kApiResponse, {}}, "server-sent events");
  search(frames, {Boundary::kWebSocketFrame, {}}, "frames");
  broker_.stop();
  searchFiles("stopped:");
  searchLog();
  searchCommandLines();
  for (std::size_t i = 0; i < redaction::kBoundaryCount; ++i) {
    const auto boundary = static_cast<Boundary>(i);
    EXPECT_EQ(searched_.contains(boundary), isThere(boundary)) << redaction::nameOf(boundary);
  }
  for (const char* name : {"state.db", "audit.log", "anchor"}) EXPECT_TRUE(files_.contains(name)) << name;
  RecordProperty("canaries", static_cast<int>(canaries_.planted()));
}

void Sweep::makeRepository(const std::string& commands) {
  const std::string line = "cd '" + broker_.workspace() +
                           "' && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null "
                           "&& git init -q -b main && "
                           "git config user.name Ada && git config user.email ada@example.org && echo x > "
                           "first && git add first && "
                           "git commit -q -m first && " +
                           commands;
  ASSERT_EQ(std::system(line.c_str()), 0);
}

void Sweep::search(std::string_view bytes, const Place& place, const std::string& where) {
  ++searched_[place.boundary];
  for (const auto& each : canaries_.misplaced(bytes, place)) ADD_FAILURE() << where << ": " << each;
}

Reply Sweep::ask(const Request& request, const std::vector<Category>& shows) {
  auto headers = request.headers;
  if (std::ranges::none_of(headers, [](const auto& each) { return each.first == "Authorization"; }))
    headers.emplace_back("Authorization", "Bearer " + token_);
  auto reply = requestUnix(socket_, request.method, request.target, request.body, headers);
  std::string whole = reply.body;
  for (const auto& [name, value] : reply.headers) whole += '\n' + name + ": " + value;
  search(whole, {reply.status < 400 ? Boundary::kApiResponse : Boundary::kApiError, shows},
         request.method + " with a canary in " + request.planted);
  return reply;
}

Reply Sweep::post(const std::string& target, const std::string& body, const std::string& key) {
  return ask({"POST", target, body, {{"Idempotency-Key", key}}, target});
}

Reply Sweep::get(const std::string& target, const std::vector<Category>& shows) {
  return ask({"GET", target, "", {}, target}, shows);
}

Finished Sweep::screen(std::vector<std::string> arguments, const std::vector<Category>& shows,
                       const std::string& input) {
  std::string name = "factionos";
  for (const auto& each : arguments) name += ' ' + each;
  auto shown = broker_.cli(std::move(arguments), input);
  search(shown.out + shown.err, {Boundary::kCli, shows}, name);
  return shown;
}

std::string Sweep::propose(const std::string& what, const std::string& key) {
  const auto proposed = post("/v1/terminal/run", R"({"workspace":"demo",)" + what + "}", key);
  EXPECT_EQ(proposed.status, 202) << proposed.body;
  return proposed.at("/action/id");
}

std::string Sweep::start(const std::string& what, const std::string& key) {
  const auto id = propose(what, key);
  EXPECT_EQ(screen({"approve", id, "--revision", "1", "--yes"}).status, 0);
  const auto started = post(
      "/v1/terminal/run",
      R"({"workspace":"demo",)" + what + R"(,"approval":{"actionId":")" + id + R"(","expectedRevision":2}})",
      key);
  EXPECT_EQ(started.status, 201) << started.body;
  return started.at("/session/id");
}

Reply Sweep::detail(const std::string& session, const std::string& query) {
  return get("/v1/terminal/sessions/" + session + query, {Category::kTerminalOutput});
}

bool Sweep::shows(const std::string& session, const std::string& text) {
  return eventually([&]() { return outputOf(detail(session)).find(text) != std::string::npos; });
}

// Every byte and every name in the home but what the operator wrote there, and the audit's anchor beside it.
void Sweep::searchFiles(const std::string& when) {
  static const std::set<std::string> kOperators{"config.toml", "policy.toml", "operator.key"};
  const auto look = [&](const std::filesystem::directory_entry& entry) {
    const auto name = entry.path().filename().string();
    const auto path = entry.path().string();
    const auto under = path.substr(root().size());
    const bool audit = under.find("audit") != under.npos || name == "anchor";
    const Place place{audit ? Boundary::kAudit : Boundary::kStateAtRest, {}};
    search(name, place, when + " the name " + under);
    if (!entry.is_regular_file() || kOperators.contains(name) || under.starts_with("/home/tokens/")) return;
    files_.insert(name);
    search(readFile(path), place, when + ' ' + under);
  };
  for (const auto& entry : std::filesystem::recursive_directory_iterator(broker_.home())) look(entry);
  look(std::filesystem::directory_entry(root() + "/anchor"));
}

void Sweep::searchLog() {
  EXPECT_FALSE(broker_.log().empty());
  search(broker_.log(), {Boundary::kLog, {}}, "the broker's log");
}

void Sweep::expectNoCore() const {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("core")) << entry.path();
}

// Processes of ours come and go within a request; every few milliseconds is often enough to see most.
void Sweep::watchProcesses() {
  while (watching_) {
    auto all = descendants(broker_.pid());
    all.push_back(broker_.pid());
    for (const auto pid : all) {
      const auto name = nameOf(pid);
      // A command's own line is what it was asked to be; its name is that of its program.
      const auto line = kOurs.contains(name) ? readFile("/proc/" + std::to_string(pid) + "/cmdline") : "";
      const std::lock_guard lock(mutex_);
      commandLines_.emplace(name, line);
    }
    for (int i = 0; i < 4 && watching_; ++i) pollPause();
  }
}

void Sweep::stopWatching() {
  watching_ = false;
  if (watcher_.joinable()) watcher_.join();
}

void Sweep::searchCommandLines() {
  EXPECT_FALSE(commandLines_.empty());
  for (const auto& [name, line] : commandLines_)
    search(name + ' ' + line, {Boundary::kWorkerTransfer, {}}, "the command line of " + name);
}

}  // namespace factionos::test
