#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include <simdjson.h>

#include "broker/cli/commands.h"
#include "broker/cli/guarded_call.h"

namespace factionos::cli {
namespace {

struct Options {
  std::string workspace;
  std::string made;
  std::string network;
  std::string id;
  std::string name;
  std::string from;
  std::vector<std::string> after;
  std::uint64_t revision = 0;
  std::uint32_t timeoutMs = 0;
  bool wait = false;
  std::optional<std::string> token;
};

constexpr std::size_t kLargestCampaign = std::size_t{1} << 20;

std::string campaignText(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw Stop(kUsage, "--from: there is no such file");
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestCampaign + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof())) throw Stop(kUsage, "--from: the file can't be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestCampaign) throw Stop(kUsage, "--from: more than 1 MiB is no campaign");
  return text;
}

std::string member(const char* name, const std::string& json) {
  return ",\"" + std::string(name) + "\":" + json;
}

// As far as both are given; begins with a comma.
std::string bounds(const Options& options) {
  std::string members;
  if (!options.network.empty()) members += member("networkProfile", jsonText(options.network));
  if (options.timeoutMs != 0) members += member("timeoutMs", std::to_string(options.timeoutMs));
  return members;
}

// The identity of a run as a person follows it.
void showRun(simdjson::dom::element run) {
  std::cout << textOf(run, "id") << '\t' << textOf(run, "state") << '\t' << textOf(run, "template") << '\t'
            << textOf(run, "workspace") << '\t' << textOf(run, "runtime") << '\t' << textOf(run, "cleanup");
  if (const auto failure = textOf(run, "failureCode"); !failure.empty()) std::cout << '\t' << failure;
  std::cout << '\n';
}

void showTask(simdjson::dom::element task) {
  std::cout << textOf(task, "id") << "\trevision " << numberOf(task, "revision") << '\t'
            << textOf(task, "state") << "\tattempt " << numberOf(task, "attempt") << '\t'
            << textOf(task, "workspace") << '/' << textOf(task, "name");
  for (const char* name : {"runId", "runtime", "cleanup", "reason"}) {
    if (const auto value = textOf(task, name); !value.empty()) std::cout << '\t' << value;
  }
  std::cout << '\n';
}

void showCampaign(simdjson::dom::element campaign) {
  std::cout << textOf(campaign, "id") << "\trevision " << numberOf(campaign, "revision") << '\t'
            << textOf(campaign, "state") << '\t' << textOf(campaign, "name") << '\n';
  simdjson::dom::array tasks;
  if (campaign["tasks"].get(tasks) != simdjson::SUCCESS) return;
  for (const auto task : tasks) {
    std::cout << "  ";
    showTask(task);
  }
}

// A gate, what it is, and why.
struct ReadinessLine {
  std::string name;
  std::string status;
  std::string reason;
};

std::vector<ReadinessLine> readinessLines(simdjson::dom::element readiness) {
  std::vector<ReadinessLine> lines;
  for (const char* name : {"docker", "podman", "apple"})
    lines.push_back(
        {name, textOf(readiness, name), textOf(readiness, (std::string(name) + "Reason").c_str())});
  for (const char* name : {"isolation", "image", "browserDependencies", "authMount", "worktreeMount",
                           "networkProfile", "providerRuntime", "cleanup", "runtime"})
    lines.push_back({name, textOf(readiness, name), {}});
  for (const auto each : readiness["templates"].get_array()) {
    const auto missing = textOf(each, "missing");
    lines.push_back({"template " + textOf(each, "id"), textOf(each, "status"),
                     missing.empty() ? std::string() : "missing: " + missing});
  }
  return lines;
}

void showColumns(const std::vector<ReadinessLine>& lines) {
  std::size_t name = 0;
  std::size_t status = 0;
  for (const auto& each : lines) {
    name = std::max(name, each.name.size());
    status = std::max(status, each.status.size());
  }
  const auto padded = [](std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
  };
  for (const auto& each : lines) {
    std::cout << padded(each.name, name) << "  "
              << (each.reason.empty() ? each.status : padded(each.status, status) + "  " + each.reason)
              << '\n';
  }
}

class ContainerCommands {
 public:
  ContainerCommands(const Context& context, const Options& options)
      : context_(context), options_(options), call_(context, options.token) {}

  int readiness() {
    return shown(get("/v1/container/readiness"), [](simdjson::dom::element document) {
      const simdjson::dom::element readiness = document["readiness"].value();
      showColumns(readinessLines(readiness));
      bool rootless = false;
      if (!textOf(readiness, "runtime").empty() && readiness["rootless"].get(rootless) == simdjson::SUCCESS &&
          !rootless)
        std::cerr << "factionos: this engine is root on this machine; a rootless one is safer\n";
      if (const auto reason = textOf(readiness, "fallbackReason"); !reason.empty())
        std::cerr << "factionos: no template can run yet, missing: " << reason << "; see "
                  << textOf(readiness, "docsPath") << '\n';
    });
  }

  int preview() {
    return shown(call_.read("/v1/container/preview", runMembers()), [](simdjson::dom::element document) {
      const simdjson::dom::element card = document["card"].value();
      std::cout << textOf(card, "operationClass") << " on " << textOf(card, "target") << ", risk "
                << textOf(card, "risk") << ", network " << textOf(card, "networkProfile") << "\npolicy\t"
                << textOf(document, "decision") << "\nrun\t" << textOf(document, "status");
      if (const auto missing = textOf(document, "missing"); !missing.empty())
        std::cout << "\tmissing: " << missing;
      std::cout << '\n';
    });
  }

  int run() { return ran(call_.guarded("/v1/container/run", runMembers())); }

  int runs() { return listed(get("/v1/container/runs"), "runs", showRun); }

  int show() {
    return shown(get("/v1/container/runs/" + options_.id), [](simdjson::dom::element document) {
      const simdjson::dom::element run = document["run"].value();
      showRun(run);
      showOutput(run);
    });
  }

  int kill() {
    return shown(call_.guarded("/v1/container/runs/" + options_.id + "/kill", ""),
                 [](simdjson::dom::element document) { showRun(document["run"].value()); });
  }

  int cleanup() {
    return shown(call_.guarded("/v1/container/cleanup", ""), [](simdjson::dom::element document) {
      std::cout << numberOf(document, "removed") << " removed, " << numberOf(document, "left") << " left\n";
    });
  }

  int taskAdd() {
    auto members = "\"workspace\":" + jsonText(options_.workspace) +
                   R"(,"executable":{"kind":"container","template":)" + jsonText(options_.made) + "}" +
                   bounds(options_);
    if (!options_.name.empty()) members += member("name", jsonText(options_.name));
    std::string after;
    for (const auto& id : options_.after) after += (after.empty() ? "" : ",") + jsonText(id);
    if (!after.empty()) members += member("after", "[" + after + "]");
    return task(call_.guarded("/v1/queue/tasks", members));
  }
  int taskList() { return listed(get("/v1/queue/tasks"), "tasks", showTask); }
  int taskShow() { return task(get("/v1/queue/tasks/" + options_.id)); }
  int taskDispatch() { return ran(order("/v1/queue/tasks/", "dispatch")); }
  int taskCancel() { return task(order("/v1/queue/tasks/", "cancel")); }
  int taskRetry() { return task(order("/v1/queue/tasks/", "retry")); }

  int campaignAdd() {
    const std::string text = campaignText(options_.from);
    simdjson::dom::parser parser;
    simdjson::dom::element tasks;
    if (parser.parse(text).get(tasks) != simdjson::SUCCESS || !tasks.is_array())
      throw Stop(kUsage, "--from: no JSON list of tasks");
    return campaign(call_.guarded(
        "/v1/campaigns", "\"name\":" + jsonText(options_.name) + member("tasks", simdjson::minify(tasks))));
  }
  int campaignList() { return listed(get("/v1/campaigns"), "campaigns", showCampaign); }
  int campaignShow() { return campaign(get("/v1/campaigns/" + options_.id)); }
  int campaignDispatch() { return ran(order("/v1/campaigns/", "dispatch")); }
  int campaignCancel() { return campaign(order("/v1/campaigns/", "cancel")); }

 private:
  std::string runMembers() const {
    return "\"workspace\":" + jsonText(options_.workspace) + member("template", jsonText(options_.made)) +
           bounds(options_);
  }

  HttpReply get(const std::string& route) {
    auto reply = call_.client().get(route);
    if (reply.status != 200) stopOn(reply);
    return reply;
  }

  // On the revision that the caller has seen, or on the present one.
  HttpReply order(const std::string& route, const char* what) {
    auto revision = options_.revision;
    if (revision == 0) {
      const auto reply = get(route + options_.id);
      simdjson::dom::parser parser;
      const simdjson::dom::element document = parser.parse(reply.body);
      simdjson::dom::element found;
      if (document["task"].get(found) != simdjson::SUCCESS) found = document["campaign"].value();
      revision = numberOf(found, "revision");
    }
    return call_.guarded(route + options_.id + "/" + what,
                         "\"expectedRevision\":" + std::to_string(revision));
  }

  // With --wait, until it has ended; then its output, and its own status.
  int ran(const HttpReply& reply) {
    if (!options_.wait)
      return shown(reply, [](simdjson::dom::element document) { showRun(document["run"].value()); });
    simdjson::dom::parser parser;
    const auto id = textOf(parser.parse(reply.body)["run"].value(), "id");
    for (;;) {
      const auto now = get("/v1/container/runs/" + id + "?waitMs=30000");
      const simdjson::dom::element run = parser.parse(now.body)["run"].value();
      const auto state = textOf(run, "state");
      if (state == "executing") continue;
      if (context_.json()) {
        std::cout << now.body << '\n';
      } else {
        showOutput(run);
        std::cerr << "factionos: " << id << ' ' << state << ", " << textOf(run, "cleanup") << '\n';
      }
      return state == "succeeded" ? kDone : kFailed;
    }
  }

  static void showOutput(simdjson::dom::element run) {
    simdjson::dom::element output;
    if (run["output"].get(output) != simdjson::SUCCESS) return;
    std::cout << textOf(output, "text") << textOf(output, "head");
    if (const auto tail = textOf(output, "tail"); !tail.empty())
      std::cout << "\n[" << numberOf(output, "gapBytes") << " bytes are not shown]\n" << tail;
  }

  int task(const HttpReply& reply) const {
    return shown(reply, [](simdjson::dom::element document) { showTask(document["task"].value()); });
  }
  int campaign(const HttpReply& reply) const {
    return shown(reply, [](simdjson::dom::element document) { showCampaign(document["campaign"].value()); });
  }
  int listed(const HttpReply& reply, const char* list, void (*print)(simdjson::dom::element)) const {
    return shown(reply, [list, print](simdjson::dom::element document) {
      for (const auto each : document[list].get_array()) print(each);
    });
  }

  template <typename Print>
  int shown(const HttpReply& reply, Print print) const {
    if (context_.json()) {
      std::cout << reply.body << '\n';
      return kDone;
    }
    simdjson::dom::parser parser;
    print(parser.parse(reply.body).value());
    return kDone;
  }

  const Context& context_;
  const Options& options_;
  GuardedCall call_;
};

using Run = int (ContainerCommands::*)();

class Adder {
 public:
  Adder(Context& context, Action& action, std::shared_ptr<Options> options)
      : context_(context), action_(action), options_(std::move(options)) {}

  CLI::App* add(CLI::App& parent, const char* name, const char* what, Run run) const {
    auto* command = parent.add_subcommand(name, what);
    command->add_option("--token", options_->token, "a bearer token, instead of this user's own rights")
        ->envname("FACTIONOS_TOKEN");
    command->callback([&context = context_, &action = action_, options = options_, run]() {
      action = [&context, options, run]() { return (ContainerCommands(context, *options).*run)(); };
    });
    return command;
  }
  CLI::App* addForId(CLI::App& parent, const char* name, const char* what, Run run) const {
    auto* command = add(parent, name, what, run);
    command->add_option("id", options_->id, "its id")->required();
    return command;
  }
  CLI::App* addForTemplate(CLI::App& parent, const char* name, const char* what, Run run) const {
    auto* command = add(parent, name, what, run);
    command->add_option("workspace", options_->workspace, "the workspace's name")->required();
    command->add_option("template", options_->made, "the template's id in config.toml")->required();
    command->add_option("--network", options_->network, "none (default) or egress");
    command->add_option("--timeout-ms", options_->timeoutMs, "ended after so long (default: the template's)");
    return command;
  }
  void addOrder(CLI::App& parent, const char* name, const char* what, Run run) const {
    auto* command = addForId(parent, name, what, run);
    command->add_option("--revision", options_->revision, "as it was seen (default: as it is now)");
    if (std::string_view(name) == "dispatch") addWait(command);
  }
  void addWait(CLI::App* command) const {
    command->add_flag("--wait", options_->wait, "until it has ended; shows its output");
  }
  Options& options() const { return *options_; }

 private:
  Context& context_;
  Action& action_;
  std::shared_ptr<Options> options_;
};

void addTaskCommands(CLI::App& container, const Adder& adder) {
  auto* task = container.add_subcommand("task", "the queue of tasks");
  task->require_subcommand(1);
  auto* add = adder.addForTemplate(*task, "add", "queue a template on a workspace; runs nothing",
                                   &ContainerCommands::taskAdd);
  add->add_option("--name", adder.options().name, "a label (default: the template's id)");
  add->add_option("--after", adder.options().after, "ids of tasks that must have succeeded first");
  adder.add(*task, "list", "tasks, newest first", &ContainerCommands::taskList);
  adder.addForId(*task, "show", "one task", &ContainerCommands::taskShow);
  adder.addOrder(*task, "dispatch", "run it, once it is approved", &ContainerCommands::taskDispatch);
  adder.addOrder(*task, "cancel", "take it out of the queue, or end its run", &ContainerCommands::taskCancel);
  adder.addOrder(*task, "retry", "queue it again; runs nothing", &ContainerCommands::taskRetry);
}

void addCampaignCommands(CLI::App& container, const Adder& adder) {
  auto* campaign = container.add_subcommand("campaign", "tasks that depend on each other");
  campaign->require_subcommand(1);
  auto* add = adder.add(*campaign, "add", "queue its tasks; runs nothing", &ContainerCommands::campaignAdd);
  add->add_option("name", adder.options().name, "a label")->required();
  add->add_option("--from", adder.options().from, "a file with the list of tasks, as JSON")->required();
  adder.add(*campaign, "list", "campaigns, newest first", &ContainerCommands::campaignList);
  adder.addForId(*campaign, "show", "one campaign with its tasks", &ContainerCommands::campaignShow);
  adder.addOrder(*campaign, "dispatch", "run the first of its tasks that may be",
                 &ContainerCommands::campaignDispatch);
  adder.addOrder(*campaign, "cancel", "cancel what has not ended", &ContainerCommands::campaignCancel);
}

}  // namespace

void addContainerCommands(CLI::App& app, Context& context, Action& action) {
  auto* container = app.add_subcommand("container", "run agent templates in containers through the broker");
  container->require_subcommand(1);
  const Adder adder(context, action, std::make_shared<Options>());
  adder.add(*container, "readiness", "what a run needs and has", &ContainerCommands::readiness);
  adder.addForTemplate(*container, "preview", "the consent card; starts nothing",
                       &ContainerCommands::preview);
  adder.addWait(adder.addForTemplate(*container, "run", "run a template, once it is approved",
                                     &ContainerCommands::run));
  adder.add(*container, "runs", "runs, newest first", &ContainerCommands::runs);
  adder.addForId(*container, "show", "one run with its output", &ContainerCommands::show);
  adder.addForId(*container, "kill", "end a run", &ContainerCommands::kill);
  adder.add(*container, "cleanup", "remove our own containers that no run holds",
            &ContainerCommands::cleanup);
  addTaskCommands(*container, adder);
  addCampaignCommands(*container, adder);
}

}  // namespace factionos::cli
