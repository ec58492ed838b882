#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include <simdjson.h>

#include "broker/cli/commands.h"
#include "broker/cli/guarded_call.h"

namespace factionos::cli {
namespace {

struct Options {
  std::string workspace;
  std::vector<std::string> files;
  std::string file;
  std::string from;
  std::string to;
  std::string commit;
  std::string untracked = "normal";
  std::string message;
  std::string authorName;
  std::string authorEmail;
  std::string branch;
  std::string name;
  std::string directory;
  std::string remote;
  std::string actionId;
  std::uint32_t limit = 0;
  std::uint32_t skip = 0;
  bool all = false;
  bool staged = false;
  bool remotes = false;
  bool allowEmpty = false;
  std::optional<std::string> token;
};

// The members of a request body, in order; what was not given is left out.
class Body {
 public:
  explicit Body(const Options& options) { add("workspace", jsonText(options.workspace)); }

  Body& text(const char* name, const std::string& value) {
    return value.empty() ? *this : add(name, jsonText(value));
  }
  Body& flag(const char* name, bool value) { return value ? add(name, "true") : *this; }
  Body& number(const char* name, std::uint64_t value) {
    return value == 0 ? *this : add(name, std::to_string(value));
  }
  Body& list(const char* name, const std::vector<std::string>& values) {
    if (values.empty()) return *this;
    std::string json;
    for (const std::string& each : values) json += (json.empty() ? "" : ",") + jsonText(each);
    return add(name, "[" + json + "]");
  }
  [[nodiscard]] const std::string& members() const { return text_; }

 private:
  Body& add(const char* name, const std::string& json) {
    text_ += (text_.empty() ? "\"" : ",\"") + std::string(name) + "\":" + json;
    return *this;
  }
  std::string text_;
};

using Element = simdjson::dom::element;

bool flagOf(Element element, const char* member) {
  bool value = false;
  return element[member].get(value) == simdjson::SUCCESS && value;
}

// Control characters come escaped from the broker.
std::string pathOf(Element element, const char* member) {
  Element path;
  return element[member].get(path) == simdjson::SUCCESS ? textOf(path, "text") : std::string();
}

char letterOf(const std::string& edit) {
  if (edit == "type_changed") return 'T';
  return edit.empty() || edit == "none" ? ' ' : static_cast<char>(edit.front() - 'a' + 'A');
}

std::string statesOf(Element entry) {
  if (flagOf(entry, "untracked")) return "??";
  const std::string conflict = textOf(entry, "conflict");
  if (!conflict.empty() && conflict != "none") return "UU";
  if (flagOf(entry, "unjudged")) return " ~";
  return {letterOf(textOf(entry, "index")), letterOf(textOf(entry, "worktree"))};
}

void showStatus(Element document) {
  const Element status = document["status"];
  const Element head = status["head"];
  const std::string branch = textOf(head, "branch");
  std::cout << "## " << (branch.empty() ? "HEAD (detached)" : branch);
  if (const auto upstream = textOf(head, "upstream"); !upstream.empty())
    std::cout << "..." << upstream << " +" << numberOf(head, "ahead") << " -" << numberOf(head, "behind");
  std::cout << '\n';
  for (const auto entry : status["entries"].get_array()) {
    const std::string old = pathOf(entry, "oldPath");
    std::cout << statesOf(entry) << ' ' << (old.empty() ? "" : old + " -> ") << pathOf(entry, "path") << '\n';
  }
  if (flagOf(status, "truncated")) std::cerr << "there are more; see --limit and --json\n";
}

void showDiff(Element diff) {
  if (const auto text = textOf(diff, "text"); !text.empty()) {
    std::cout << text;
    return;
  }
  for (const auto file : diff["files"].get_array()) {
    const std::string old = pathOf(file, "oldPath");
    std::cout << letterOf(textOf(file, "edit")) << "  +" << numberOf(file, "insertions") << " -"
              << numberOf(file, "deletions") << "  " << (old.empty() ? "" : old + " -> ")
              << pathOf(file, "path") << (flagOf(file, "binary") ? "  (binary)" : "") << '\n';
  }
  std::cout << numberOf(diff, "total") << " files, +" << numberOf(diff, "insertions") << " -"
            << numberOf(diff, "deletions") << '\n';
}

void showCommit(Element commit) {
  std::cout << textOf(commit, "commit").substr(0, 12) << "  " << textOf(commit["author"], "time") << "  "
            << textOf(commit["author"], "name") << "  " << textOf(commit, "subject") << '\n';
}

void showLog(Element document) {
  for (const auto commit : document["log"]["commits"].get_array()) showCommit(commit);
}

void showShow(Element document) {
  showCommit(document["show"]["commit"]);
  std::cout << '\n' << textOf(document["show"], "message") << '\n';
  showDiff(document["show"]["diff"]);
}

void showBranches(Element document) {
  for (const auto branch : document["branches"]["branches"].get_array())
    std::cout << (flagOf(branch, "current") ? "* " : "  ") << textOf(branch, "name") << "  "
              << textOf(branch, "commit").substr(0, 12) << '\n';
}

void showWorktrees(Element document) {
  for (const auto tree : document["worktrees"].get_array())
    std::cout << (flagOf(tree, "main") ? "(main)" : textOf(tree, "name")) << "  " << textOf(tree, "branch")
              << "  " << pathOf(tree, "directory") << (flagOf(tree, "missing") ? "  missing" : "")
              << (flagOf(tree, "locked") ? "  locked" : "") << '\n';
}

void showOutcome(Element document) {
  const Element action = document["action"];
  Element outcome;
  std::cout << textOf(action, "operation") << "  " << textOf(action, "state");
  if (document["outcome"].get(outcome) == simdjson::SUCCESS) {
    if (const auto branch = textOf(outcome, "branch"); !branch.empty()) std::cout << "  " << branch;
    if (const auto commit = textOf(outcome, "commit"); !commit.empty())
      std::cout << "  " << commit.substr(0, 12);
  }
  std::cout << "\nundo with: factionos git rollback " << textOf(action, "workspace") << ' '
            << textOf(action, "id") << '\n';
}

enum class Kind { kRead, kChange };

struct Command {
  const char* name;
  const char* description;
  Kind kind;
  void (*options)(CLI::App& command, Options& options);
  void (*body)(Body& body, const Options& options);
  void (*show)(Element document);
};

const Command kCommands[] = {
    {"status", "what differs from HEAD, as git status tells it", Kind::kRead,
     [](CLI::App& c, Options& o) {
       c.add_option("--untracked", o.untracked, "no, normal (default) or all")
           ->check(CLI::IsMember({"no", "normal", "all"}));
       c.add_option("--limit", o.limit, "entries at most");
     },
     [](Body& b, const Options& o) { b.text("untracked", o.untracked).number("limit", o.limit); },
     showStatus},
    {"diff", "counts of what changed; with --file the lines of one file, masked", Kind::kRead,
     [](CLI::App& c, Options& o) {
       c.add_flag("--staged", o.staged, "HEAD to index instead of index to working tree");
       c.add_option("--from", o.from, "a commit");
       c.add_option("--to", o.to, "a commit");
       c.add_option("--file", o.file, "the one file whose lines are wanted");
     },
     [](Body& b, const Options& o) {
       b.flag("staged", o.staged).text("from", o.from).text("to", o.to).text("file", o.file);
     },
     [](Element d) { showDiff(d["diff"]); }},
    {"log", "commits, newest first", Kind::kRead,
     [](CLI::App& c, Options& o) {
       c.add_option("from", o.from, "a branch, tag or commit (default: HEAD)");
       c.add_option("--limit", o.limit, "commits at most");
       c.add_option("--skip", o.skip, "leave out so many first");
     },
     [](Body& b, const Options& o) {
       b.text("from", o.from).number("limit", o.limit).number("skip", o.skip);
     },
     showLog},
    {"show", "one commit and what it changed", Kind::kRead,
     [](CLI::App& c, Options& o) {
       c.add_option("commit", o.commit, "a branch, tag or commit")->required();
       c.add_option("--file", o.file, "the one file whose lines are wanted");
     },
     [](Body& b, const Options& o) { b.text("commit", o.commit).text("file", o.file); }, showShow},
    {"branches", "branches and where they are", Kind::kRead,
     [](CLI::App& c, Options& o) { c.add_flag("--remotes", o.remotes, "remote-tracking ones too"); },
     [](Body& b, const Options& o) { b.flag("remotes", o.remotes); }, showBranches},
    {"worktree-list", "linked working trees", Kind::kRead, [](CLI::App&, Options&) {},
     [](Body&, const Options&) {}, showWorktrees},
    {"stage", "put files into the index", Kind::kChange,
     [](CLI::App& c, Options& o) {
       c.add_option("files", o.files, "files or directories");
       c.add_flag("--all", o.all, "everything that differs");
     },
     [](Body& b, const Options& o) { b.list("files", o.files).flag("all", o.all); }, showOutcome},
    {"unstage", "take files out of the index again", Kind::kChange,
     [](CLI::App& c, Options& o) {
       c.add_option("files", o.files, "files or directories");
       c.add_flag("--all", o.all, "everything that differs");
     },
     [](Body& b, const Options& o) { b.list("files", o.files).flag("all", o.all); }, showOutcome},
    {"commit", "commit the index; no hook runs", Kind::kChange,
     [](CLI::App& c, Options& o) {
       c.add_option("--message,-m", o.message, "the message, stored as it is")->required();
       c.add_option("--author-name", o.authorName, "instead of the repository's user.name");
       c.add_option("--author-email", o.authorEmail, "instead of the repository's user.email");
       c.add_flag("--allow-empty", o.allowEmpty, "also without a change");
     },
     [](Body& b, const Options& o) {
       b.text("message", o.message).text("authorName", o.authorName).text("authorEmail", o.authorEmail);
       b.flag("allowEmpty", o.allowEmpty);
     },
     showOutcome},
    {"branch-create", "make a branch", Kind::kChange,
     [](CLI::App& c, Options& o) {
       c.add_option("branch", o.branch, "its name")->required();
       c.add_option("--from", o.from, "a commit (default: HEAD)");
     },
     [](Body& b, const Options& o) { b.text("branch", o.branch).text("from", o.from); }, showOutcome},
    {"checkout", "check out a branch in a clean working tree", Kind::kChange,
     [](CLI::App& c, Options& o) { c.add_option("branch", o.branch, "a local branch")->required(); },
     [](Body& b, const Options& o) { b.text("branch", o.branch); }, showOutcome},
    {"worktree-add", "add a linked working tree inside of the workspace", Kind::kChange,
     [](CLI::App& c, Options& o) {
       c.add_option("name", o.name, "its name, and its branch's")->required();
       c.add_option("directory", o.directory, "relative to the workspace")->required();
       c.add_option("--branch", o.branch, "another branch");
     },
     [](Body& b, const Options& o) {
       b.text("name", o.name).text("directory", o.directory).text("branch", o.branch);
     },
     showOutcome},
    {"worktree-remove", "remove a linked working tree that holds nothing new", Kind::kChange,
     [](CLI::App& c, Options& o) { c.add_option("name", o.name, "its name")->required(); },
     [](Body& b, const Options& o) { b.text("name", o.name); }, showOutcome},
    {"fetch", "fetch from a remote that is a path within the workspaces", Kind::kChange,
     [](CLI::App& c, Options& o) { c.add_option("remote", o.remote, "its name (default: origin)"); },
     [](Body& b, const Options& o) { b.text("remote", o.remote); }, showOutcome},
    {"push", "push to such a remote; blocked by policy as shipped", Kind::kChange,
     [](CLI::App& c, Options& o) {
       c.add_option("remote", o.remote, "its name (default: origin)");
       c.add_option("--branch", o.branch, "a branch (default: the current one)");
     },
     [](Body& b, const Options& o) { b.text("remote", o.remote).text("branch", o.branch); }, showOutcome},
    {"rollback", "undo what one of these actions did", Kind::kChange,
     [](CLI::App& c, Options& o) { c.add_option("action", o.actionId, "the action's id")->required(); },
     [](Body& b, const Options& o) { b.text("actionId", o.actionId); }, showOutcome},
};

int run(const Context& context, const Options& options, const Command& command) {
  GuardedCall call(context, options.token);
  Body body(options);
  command.body(body, options);
  const std::string route = std::string("/v1/git/") + command.name;
  const HttpReply reply =
      command.kind == Kind::kRead ? call.read(route, body.members()) : call.guarded(route, body.members());
  if (context.json()) {
    std::cout << reply.body << '\n';
    return kDone;
  }
  simdjson::dom::parser parser;
  command.show(parser.parse(reply.body));
  return kDone;
}

}  // namespace

void addGitCommands(CLI::App& app, Context& context, Action& action) {
  auto* git = app.add_subcommand("git", "the repository of a workspace, without starting a program");
  git->require_subcommand(1);
  auto options = std::make_shared<Options>();
  for (const Command& each : kCommands) {
    auto* command = git->add_subcommand(each.name, each.description);
    command->add_option("workspace", options->workspace, "the workspace's name")->required();
    command->add_option("--token", options->token, "a bearer token, instead of this user's own rights")
        ->envname("FACTIONOS_TOKEN");
    each.options(*command, *options);
    command->callback([&context, &action, options, &each]() {
      action = [&context, options, &each]() { return run(context, *options, each); };
    });
  }
}

}  // namespace factionos::cli
