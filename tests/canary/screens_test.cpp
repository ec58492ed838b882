// Every screen of the CLI, walked by its own tree of commands, and every method of the operator's line.
#include <CLI/CLI.hpp>
#include <functional>

#include <capnp/dynamic.h>
#include <capnp/pretty-print.h>

#include "broker/cli/commands.h"
#include "broker/cli/operator_client.h"
#include "tests/canary/sweep.h"

namespace factionos::test {
namespace {

using Words = std::vector<std::string>;

// A command that does its work, and what it is there to show.
struct Screen {
  Words arguments;
  std::vector<Category> shows;
};

class Screens : public Sweep {
 protected:
  Screens() { cli::addEverything(app_, context_, action_); }

  // Every command that does something, with its name in words: {"audit", "list"}.
  std::vector<std::pair<Words, CLI::App*>> leaves() {
    std::vector<std::pair<Words, CLI::App*>> found;
    std::function<void(CLI::App*, const Words&)> walk = [&](CLI::App* app, const Words& name) {
      const auto below = app->get_subcommands({});
      if (below.empty()) found.emplace_back(name, app);
      for (auto* each : below) {
        auto longer = name;
        longer.push_back(each->get_name());
        walk(each, longer);
      }
    };
    walk(&app_, {});
    return found;
  }

  std::vector<Screen> screens();

  cli::Context context_;
  cli::Action action_;
  CLI::App app_;
};

// One row a command at least; those of `serve` and `run`, which do not end by themselves, are driven apart.
std::vector<Screen> Screens::screens() {
  const auto line = R"("shell":": )" + plant(Category::kCommand, "a shell line") + "\"";
  const auto first = propose(line, "screens-1");
  const auto second = propose(line, "screens-2");
  const auto made = root() + "/made";
  const auto other = root() + "/other";
  ::mkdir(other.c_str(), 0755);
  const std::vector<Category> paths{Category::kBroadPath, Category::kWorkspacePath};
  const auto shown = plant(Category::kFileName, "a file that is listed");
  writeFile(broker_.workspace() + "/" + shown,
            plant(Category::kFileContents, "a file that is read") + "\nend\n");
  const auto hidden = broker_.workspace() + "/hidden";
  writeFile(hidden, plant(Category::kFileContents, "the content of a write"));
  const auto tasks = root() + "/tasks";
  writeFile(tasks,
            R"([{"name":"a","workspace":"demo","executable":{"kind":"container","template":"echo"}}])");
  const std::vector<Category> contents{Category::kFileContents};
  const auto tracked = plant(Category::kFileName, "a file in a repository");
  const auto branch = plant(Category::kFileName, "a branch");
  makeRepository(
      "echo " + plant(Category::kFileContents, "a line of a commit") + " > " + tracked + " && git add " +
      tracked + " && git commit -q -m " + plant(Category::kFileContents, "a commit's message") + " && echo " +
      plant(Category::kFileContents, "a line that changed") + " > " + tracked + " && git branch " + branch);
  const auto git = [](Words words) {
    words.insert(words.begin(), "git");
    words.insert(words.begin() + 2, "demo");
    return words;
  };
  return {
      {git({"status"}), {}},
      {git({"diff"}), {}},
      {git({"diff", "--file", tracked}), contents},
      {git({"log"}), contents},
      {git({"show", "HEAD", "--file", tracked}), contents},
      {git({"branches"}), {}},
      {git({"worktree-list"}), {}},
      // What is refused before anybody is asked.
      {git({"stage", plant(Category::kFileName, "a file that is not there")}), {}},
      {git({"unstage", "--all"}), {}},
      {git({"commit", "-m", plant(Category::kFileContents, "a message"), "--author-name",
            plant(Category::kRequestBody, "an author"), "--author-email", "x@y"}),
       {}},
      {git({"branch-create", branch}), {}},
      {git({"checkout", branch}), {}},
      {git({"worktree-add", "x", "../" + plant(Category::kFileName, "a directory outside")}), {}},
      {git({"worktree-remove", plant(Category::kFileName, "a worktree")}), {}},
      {git({"fetch", plant(Category::kFileName, "a remote")}), {}},
      {git({"push"}), {}},
      {git({"rollback", "act_" + std::string(26, '0')}), {}},
      {{"file", "list", "demo"}, {}},
      {{"file", "stat", "demo", shown}, {}},
      {{"file", "read", "demo", shown}, contents},
      {{"file", "diff", "demo", shown, "--old", "end", "--new", "END", "--detail"}, contents},
      // Of protected paths, which nobody is asked about.
      {{"file", "write", "demo", ".git/config", "--from", hidden}, {}},
      {{"file", "edit", "demo", ".git/config", "--old", plant(Category::kFileContents, "an old text"),
        "--new", plant(Category::kFileContents, "a new text")},
       {}},
      {{"file", "delete", "demo", ".git/config"}, {}},
      {{"file", "restore", "demo", ".git/config"}, {}},
      {{"container", "readiness"}, {}},
      {{"container", "preview", "demo", "echo"}, {}},
      // Of what is not there, or is nobody's to ask about: nothing waits.
      {{"container", "run", "demo", "nothing"}, {}},
      {{"container", "runs"}, {}},
      {{"container", "show", "run_" + std::string(26, '0')}, {}},
      {{"container", "kill", "run_" + std::string(26, '0')}, {}},
      {{"container", "cleanup", "--token", "none"}, {}},
      {{"container", "task", "add", "demo", "echo", "--name", plant(Category::kQueueEntry, "a task's name")},
       {}},
      {{"container", "task", "list"}, {}},
      {{"container", "task", "show", "tsk_" + std::string(26, '0')}, {}},
      {{"container", "task", "dispatch", "tsk_" + std::string(26, '0')}, {}},
      {{"container", "task", "cancel", "tsk_" + std::string(26, '0')}, {}},
      {{"container", "task", "retry", "tsk_" + std::string(26, '0')}, {}},
      {{"container", "campaign", "add", plant(Category::kQueueEntry, "a campaign's name"), "--from", tasks},
       {}},
      {{"container", "campaign", "list"}, {}},
      {{"container", "campaign", "show", "cmp_" + std::string(26, '0')}, {}},
      {{"container", "campaign", "dispatch", "cmp_" + std::string(26, '0')}, {}},
      {{"container", "campaign", "cancel", "cmp_" + std::string(26, '0')}, {}},
      {{"init", "--no-passphrase", "--home", made}, paths},
      {{"workspace", "list"}, paths},
      {{"workspace", "add", "other", other}, {}},
      {{"status"}, {}},
      {{"actions"}, {}},
      {{"actions", "--state", "proposed"}, {}},
      {{"reveal", first}, {Category::kCommand}},
      {{"approve", first, "--revision", "1", "--yes"}, {}},
      {{"reject", second, "--revision", "1", "--yes", "--reason", "not_now"}, {}},
      {{"grant", "add", "--workspace", "demo", "--program", "/usr/bin/true", "--principal", "agent"}, {}},
      {{"grant", "list"}, {}},
      {{"grant", "remove", "grt_nothing"}, {}},
      {{"token", "create", "shown", "--scope", "read"}, {Category::kToken}},
      {{"token", "list"}, {}},
      {{"token", "revoke", "shown"}, {}},
      {{"policy", "check"}, {}},
      {{"policy", "check", "--program", "/usr/bin/true", "--workspace", "demo"}, {}},
      {{"policy", "reload"}, {}},
      {{"policy", "matrix"}, {}},
      {{"audit", "verify"}, {}},
      {{"audit", "list"}, {}},
      {{"audit", "export"}, {}},
      {{"sandbox", "verify", "--profile", "pty"}, {}},
      {{"sandbox", "show"}, {}},
      {{"sandbox", "show", "command"}, {}},
      {{"sandbox", "explain", "--workspace", "demo", "create", "new"}, {}},
      {{"sandbox", "explain", "--workspace", "demo", "read",
        "/" + plant(Category::kBroadPath, "a path that is asked about")},
       {}},
  };
}

TEST_F(Screens, EveryCommandShowsWhatItIsThereToShowAlone) {
  std::set<Words> driven{{"serve"}, {"run"}};
  for (const auto& [arguments, shows] : screens()) {
    screen(arguments, shows);
    auto asJson = arguments;
    asJson.push_back("--json");
    screen(asJson, shows);
    driven.insert({arguments[0]});
    driven.insert({arguments[0], arguments.size() > 1 ? arguments[1] : ""});
    if (arguments.size() > 2) driven.insert({arguments[0], arguments[1], arguments[2]});
  }
  for (const auto& [name, app] : leaves())
    EXPECT_TRUE(driven.contains(name)) << "a new command needs a row in screens(): " << name.back();
}

TEST_F(Screens, RevealShowsWhatIsRevealedAndRunStreamsWhatIsPrinted) {
  const auto line = plant(Category::kCommand, "a shell line");
  const auto id = propose(R"("shell":": )" + line + "\"", "revealed");
  EXPECT_NE(screen({"reveal", id}, {Category::kCommand}).out.find(line), std::string::npos);

  const auto printed = plant(Category::kTerminalOutput, "a file that cat prints");
  writeFile(broker_.workspace() + "/printed", printed + "\n");
  const auto hidden = plant(Category::kCommand, "an argument");
  auto run = broker_.startCli(
      {"run", "--workspace", "demo", "--", "sh", "-c", "stty -echo; cat printed; read a", hidden},
      plant(Category::kTerminalInput, "piped input") + "\n");
  const auto asked = run->waitForLine("factionos approve act_");
  ASSERT_NE(asked.find("act_"), asked.npos);
  screen({"approve", asked.substr(asked.find("act_"), 30), "--revision", "1", "--yes"});
  const auto done = run->finish();
  EXPECT_NE(done.out.find(printed), done.out.npos);
  search(done.out + done.err, {Boundary::kCli, {Category::kTerminalOutput}}, "factionos run");
}

// Values that no command takes, in each option and argument of each: the mistake is told, the value is not.
TEST_F(Screens, NoOptionsValueIsRepeated) {
  for (const auto& [name, app] : leaves()) {
    auto line = name;
    for (const auto* option : app->get_options()) {
      if (option->get_required() && option->get_positional()) line.emplace_back("x");
    }
    for (const auto* option : app->get_options()) {
      if (option->get_name().empty() || option->check_lname("help") || option->check_lname("help-all"))
        continue;
      auto arguments = option->get_positional() ? name : line;
      if (!option->get_positional()) arguments.push_back(option->get_name());
      const auto where = arguments.front() + " " + option->get_name();
      arguments.push_back(plant(Category::kRequestBody, where));
      screen(arguments);
    }
    auto arguments = line;
    arguments.push_back("--" + plant(Category::kRequestBody, name.back() + " with an unknown option"));
    screen(arguments);
    arguments = line;
    arguments.insert(arguments.end(),
                     {plant(Category::kRequestBody, name.back() + " with one argument more"), "x", "y"});
    screen(arguments);
  }
  screen({plant(Category::kRequestBody, "a command that is not there")});
}

// Each text is a canary, as a label and with what no label has.
TEST_F(Screens, NoTextOfTheOperatorsLineComesBackOrStays) {
  context_.homeFlag = broker_.home();
  cli::OperatorClient line(context_, {});
  capnp::DynamicCapability::Client client = line.service();
  for (const auto method : client.getSchema().getMethods()) {
    const std::string name = method.getProto().getName().cStr();
    auto request = client.newRequest(method);
    std::function<void(capnp::DynamicStruct::Builder)> fill = [&](capnp::DynamicStruct::Builder target) {
      for (const auto field : target.getSchema().getFields()) {
        if (field.getType().isText()) {
          const auto text = plant(Category::kRequestBody, "Operator." + name) + " \x1b[1m";
          target.set(field, capnp::Text::Reader(text.c_str(), text.size()));
        } else if (field.getType().isStruct()) {
          fill(target.init(field).as<capnp::DynamicStruct>());
        }
      }
    };
    fill(request);
    std::string said;
    try {
      const auto results = request.send().wait(line.waitScope());
      said = kj::str(capnp::DynamicStruct::Reader(results)).cStr();
    } catch (const kj::Exception& exception) {
      said = exception.getDescription().cStr();
    }
    search(said, {Boundary::kCli, {}}, "Operator." + name);
  }
}

}  // namespace
}  // namespace factionos::test
