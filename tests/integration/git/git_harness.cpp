#include "git_harness.h"

#include <algorithm>
#include <sstream>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/rpc/descriptor.h"

namespace factionos::test {
namespace {

std::vector<std::string> environmentOf(long time) {
  const std::string at = std::to_string(time) + " +0100";
  return {"PATH=/usr/bin:/bin",
          "HOME=/nonexistent",
          "GIT_CONFIG_NOSYSTEM=1",
          "GIT_CONFIG_GLOBAL=/dev/null",
          "GIT_AUTHOR_NAME=Ada Lovelace",
          "GIT_AUTHOR_EMAIL=ada@example.org",
          "GIT_COMMITTER_NAME=Ada Lovelace",
          "GIT_COMMITTER_EMAIL=ada@example.org",
          "GIT_AUTHOR_DATE=" + at,
          "GIT_COMMITTER_DATE=" + at,
          "GIT_EDITOR=true",
          "LC_ALL=C.UTF-8"};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (const std::string& text : texts) found.push_back(const_cast<char*>(text.c_str()));
  found.push_back(nullptr);
  return found;
}

char letter(schema::GitEdit edit) {
  constexpr char kLetters[] = {'.', 'A', 'M', 'D', 'R', 'T'};
  return kLetters[static_cast<int>(edit)];
}

const char* letters(schema::GitConflict conflict) {
  constexpr const char* kLetters[] = {"..", "UU", "AA", "DD", "AU", "UA", "DU", "UD"};
  return kLetters[static_cast<int>(conflict)];
}

std::string lineOf(schema::GitStatusEntry::Reader entry) {
  const std::string path = bytesOf(entry.getPath());
  if (entry.getUntracked()) return "?? " + path;
  if (entry.getConflict() != schema::GitConflict::NONE)
    return std::string(letters(entry.getConflict())) + " " + path;
  const std::string states = {letter(entry.getIndex()), letter(entry.getWorktree())};
  return states + " " + (entry.hasOldPath() ? bytesOf(entry.getOldPath()) + " -> " : "") + path;
}

// The part behind the first `count` blanks.
std::string behind(const std::string& record, int count) {
  std::size_t at = 0;
  for (int i = 0; i < count; ++i) at = record.find(' ', at) + 1;
  return record.substr(at);
}

}  // namespace

GitRun runIn(const std::string& folder, const std::vector<std::string>& argv, long time) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const std::vector<std::string> environment = environmentOf(time);
  const std::vector<char*> words = pointers(argv);
  const std::vector<char*> variables = pointers(environment);
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_RDONLY);
    if (chdir(folder.c_str()) != 0 || dup2(null, 0) < 0 || dup2(ends[1], 1) < 0 || dup2(ends[1], 2) < 0)
      _exit(126);
    execvpe(words[0], words.data(), variables.data());
    _exit(127);
  }
  close(ends[1]);
  GitRun run;
  char buffer[65536];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    run.output.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return run;
}

std::string git(const std::string& folder, std::vector<std::string> arguments, long time) {
  arguments.insert(arguments.begin(), "git");
  GitRun run = runIn(folder, arguments, time);
  EXPECT_EQ(run.status, 0) << arguments[1] << ": " << run.output;
  return run.output;
}

std::string branchNow(const std::string& folder) {
  const std::string name = git(folder, {"rev-parse", "--abbrev-ref", "HEAD"});
  return name.substr(0, name.find('\n'));
}

std::string tip(const std::string& folder, const std::string& name) {
  return git(folder, {"rev-parse", name}).substr(0, 40);
}

std::function<void(schema::GitChange::Builder)> checkOut(const std::string& branch) {
  return [branch](schema::GitChange::Builder change) { change.initCheckout().setBranch(branch.c_str()); };
}

std::function<void(schema::GitChange::Builder)> addTree(const std::string& name, const std::string& directory,
                                                        const std::string& branch) {
  return [=](schema::GitChange::Builder change) {
    auto request = change.initWorktreeAdd();
    request.setName(name.c_str());
    request.setDirectory(directory.c_str());
    if (!branch.empty()) request.setBranch(branch.c_str());
  };
}

std::function<void(schema::GitChange::Builder)> removeTree(const std::string& name) {
  return [name](schema::GitChange::Builder change) { change.initWorktreeRemove().setName(name.c_str()); };
}

GitWorker::GitWorker(Broker& broker, const std::string& workspace, Access access,
                     const std::vector<std::string>& roots)
    : broker_(broker) {
  rpc::SocketPair pair = rpc::socketPair();
  auto start = broker.launcher.startRequest();
  start.setRole(schema::Role::GIT);
  auto scope = start.initScope().initRepository();
  scope.setWorkspace(workspace.c_str());
  scope.setAccess(access);
  auto list = scope.initRoots(static_cast<unsigned>(roots.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, roots[i].c_str());
  start.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
  auto started = call(start);
  if (started.hasDenial()) {
    denial = denialText(started.getDenial());
    return;
  }
  process = started.getWorker();
  line_ = kj::heap<rpc::Connection>(broker.loop, kj::mv(pair.first),
                                    rpc::ConnectionOptions{.role = rpc::Role::kClient});
  auto opened = call(line_->bootstrapAs<schema::Git>().openRequest());
  if (opened.hasDenial()) {
    denial = denialText(opened.getDenial());
  } else {
    repository = opened.getRepository();
  }
}

std::string GitWorker::prepare(const Fill& fill) {
  auto request = repository.prepareRequest();
  fill(request.initChange());
  auto response = call(request);
  if (response.hasDenial()) return denialText(response.getDenial());
  state = response.getPreview().getState();
  files = response.getPreview().getFiles();
  return {};
}

std::string GitWorker::run(const Fill& fill) {
  static int count = 0;
  char id[40];
  std::snprintf(id, sizeof id, "act_%026d", ++count);
  lastAction = id;
  auto request = repository.runRequest();
  request.setActionId(id);
  request.setState(state.c_str());
  fill(request.initChange());
  auto response = call(request);
  if (response.getSnapshot().size() > 0) snapshots[id] = response.getSnapshot();
  if (response.hasDenial()) return denialText(response.getDenial());
  commit = response.getOutcome().getCommit();
  return {};
}

std::string GitWorker::change(const Fill& fill) {
  if (std::string refused = prepare(fill); !refused.empty()) return refused;
  return run(fill);
}

std::string GitWorker::stage(const std::vector<std::string>& paths) {
  return change([&paths](schema::GitChange::Builder change) {
    auto list = change.initStage().initFileBytes(static_cast<unsigned>(paths.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, {reinterpret_cast<const kj::byte*>(paths[i].data()), paths[i].size()});
  });
}

std::string GitWorker::stageAll() {
  return change([](schema::GitChange::Builder change) { change.initStage().setAll(true); });
}

std::string GitWorker::commitAs(const std::string& message) {
  return change([&message](schema::GitChange::Builder change) {
    change.initCommit().setMessage(capnp::Text::Reader(message.c_str(), message.size()));
  });
}

std::string GitWorker::rollback(const std::string& actionId) {
  return rollbackBy(actionId, snapshots[actionId]);
}

std::string GitWorker::rollbackBy(const std::string& actionId, const std::string& snapshot) {
  // Copies: it may be lastAction, which is another one by the time that it runs.
  return change([id = actionId, object = snapshot](schema::GitChange::Builder change) {
    auto rollback = change.initRollback();
    rollback.setActionId(id.c_str());
    rollback.setSnapshot(object.c_str());
  });
}

schema::GitVerdict GitWorker::reconcile(const std::string& actionId) {
  auto request = repository.reconcileRequest();
  request.setActionId(actionId.c_str());
  return call(request).getVerdict();
}

std::vector<std::string> GitWorker::status(schema::Untracked untracked) {
  auto request = repository.statusRequest();
  auto wish = request.initRequest();
  wish.setUntracked(untracked);
  wish.setLimit(10'000);
  auto response = call(request);
  lastDenial = denialText(response.getDenial());
  std::vector<std::string> lines;
  for (const auto entry : response.getStatus().getEntries()) lines.push_back(lineOf(entry));
  std::ranges::sort(lines);
  return lines;
}

Repo::Repo() {
  git(folder(), {"init", "-q", "-b", "main"});
  git(folder(), {"config", "user.name", "Grace Hopper"});
  git(folder(), {"config", "user.email", "grace@example.org"});
  write("kept.txt", "one\ntwo\nthree\n");
  write("folder/inner.txt", "inner\n");
  commit("first");
}

void Repo::write(const std::string& path, const std::string& content, mode_t mode) const {
  broker.world.write(folder() + "/" + path, content, mode);
}

void Repo::commit(const std::string& message, long time) const {
  git(folder(), {"add", "-A"}, time);
  git(folder(), {"commit", "-q", "--allow-empty", "-m", message}, time);
}

void Repo::config(const std::string& key, const std::string& value) const {
  git(folder(), {"config", key, value});
}

std::string Repo::opened() {
  return GitWorker(broker, folder()).denial;
}

std::vector<std::string> porcelain(const std::string& folder, const std::string& untracked) {
  const std::string output = git(folder, {"--no-optional-locks", "status", "--porcelain=2", "-z",
                                          "--untracked-files=" + untracked, "--ignore-submodules=dirty"});
  std::vector<std::string> records;
  std::istringstream text(output);
  for (std::string record; std::getline(text, record, '\0');) records.push_back(record);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string& record = records[i];
    switch (record.front()) {
      case '1':
        lines.push_back(record.substr(2, 2) + " " + behind(record, 8));
        break;
      case '2':
        lines.push_back(record.substr(2, 2) + " " + records[i + 1] + " -> " + behind(record, 9));
        ++i;
        break;
      case 'u':
        lines.push_back(record.substr(2, 2) + " " + behind(record, 10));
        break;
      case '?':
        lines.push_back("?? " + record.substr(2));
        break;
      default:
        break;
    }
  }
  std::ranges::sort(lines);
  return lines;
}

std::string bytesOf(schema::GitPath::Reader path) {
  if (path.hasBytes()) {
    const auto bytes = path.getBytes();
    return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
  }
  return {path.getText().begin(), path.getText().size()};
}

}  // namespace factionos::test
