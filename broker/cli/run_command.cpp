#include <CLI/CLI.hpp>
#include <iostream>
#include <mutex>

#include <simdjson.h>
#include <unistd.h>

#include "broker/cli/commands.h"
#include "broker/cli/denial_text.h"
#include "broker/cli/guarded_call.h"
#include "broker/cli/run_terminal.h"

namespace factionos::cli {
namespace {

struct Options {
  std::string workspace;
  std::string shell;
  std::string network = "none";
  std::vector<std::string> argv;
  std::uint32_t timeoutSeconds = 0;
  std::optional<std::string> token;
};

// The session's own exit status, as a shell tells it.
constexpr int kSignalBase = 128;

class Runner {
 public:
  Runner(const Context& context, const Options& options)
      : context_(context), options_(options), call_(context, options.token), client_(call_.client()) {}

  int run() {
    const auto reply = call_.guarded("/v1/terminal/run", body());
    simdjson::dom::parser parser;
    const simdjson::dom::element document = parser.parse(reply.body);
    return stream(textOf(document["session"], "id"));
  }

 private:
  std::string body() const {
    std::string out = "\"workspace\":" + jsonText(options_.workspace);
    if (!options_.shell.empty()) {
      out += ",\"shell\":" + jsonText(options_.shell);
    } else {
      out += ",\"command\":[";
      for (std::size_t i = 0; i < options_.argv.size(); ++i)
        out += (i == 0 ? "" : ",") + jsonText(options_.argv[i]);
      out += "]";
    }
    out += ",\"network\":" + jsonText(options_.network);
    out +=
        ",\"cols\":" + std::to_string(firstWindow_.cols) + ",\"rows\":" + std::to_string(firstWindow_.rows);
    if (options_.timeoutSeconds != 0)
      out += ",\"timeoutMs\":" + std::to_string(std::uint64_t{options_.timeoutSeconds} * 1000);
    return out;
  }

  int stream(const std::string& id) {
    const auto target = "/v1/terminal/sessions/" + id;
    // The relay's own connection: the other one waits for output.
    HttpClient control(context_.socketPath(home::kApiSocketName), options_.token);
    const auto post = [&](const char* what, const std::string& json) {
      try {
        control.post(target + what, json, randomKey());
      } catch (const Stop&) {
        // The stream of output will tell.
      }
    };
    const TerminalRelay relay({.input =
                                   [&](const std::string& data) {
                                     if (!data.empty()) post("/input", "{\"data\":" + jsonText(data) + "}");
                                   },
                               .resize =
                                   [&](WindowSize size) {
                                     post("/resize", "{\"cols\":" + std::to_string(size.cols) +
                                                         ",\"rows\":" + std::to_string(size.rows) + "}");
                                   },
                               .kill = [&]() { post("/kill", "{}"); }});
    return follow(target);
  }

  int follow(const std::string& target) {
    std::uint64_t next = 0;
    for (;;) {
      const auto reply = client_.get(target + "?waitMs=30000&after=" + std::to_string(next));
      if (reply.status != 200) stopOn(reply);
      simdjson::dom::parser parser;
      const simdjson::dom::element document = parser.parse(reply.body);
      const auto session = document["session"].value();
      const auto output = session["output"].value();
      if (const auto gap = numberOf(output, "gapBytes"); gap != 0)
        std::cerr << "[" << gap << " bytes were dropped]\n";
      std::cout << textOf(output, "text") << std::flush;
      const auto after = numberOf(output, "next");
      const bool more = after != next;
      next = after;
      if (!more && textOf(session, "state") == "ended") return statusOf(session);
    }
  }

  static int statusOf(simdjson::dom::element session) {
    std::uint64_t value = 0;
    const auto failure = textOf(session, "failureCode");
    if (failure == "timed_out" || failure.starts_with("limit_") || failure.starts_with("worker_"))
      std::cerr << "factionos: " << failure << "\n";
    tellDenials(session);
    simdjson::dom::element exit;
    if (session["exit"].get(exit) != simdjson::SUCCESS) return kFailed;
    if (exit["code"].get(value) == simdjson::SUCCESS) return static_cast<int>(value);
    if (exit["signal"].get(value) == simdjson::SUCCESS) return kSignalBase + static_cast<int>(value);
    return kFailed;
  }

  static void tellDenials(simdjson::dom::element session) {
    simdjson::dom::array denials;
    if (session["denials"].get(denials) != simdjson::SUCCESS) return;
    for (const auto row : denials) {
      std::cerr << "factionos: "
                << denialSentence(textOf(row, "operation"), textOf(row, "target"), numberOf(row, "count"))
                << "\n";
    }
  }

  const Context& context_;
  const Options& options_;
  GuardedCall call_;
  HttpClient& client_;
  // What runs is what was approved: the request keeps the size that it began with.
  WindowSize firstWindow_ = windowSize();
};

}  // namespace

void addRunCommand(CLI::App& app, Context& context, Action& action) {
  auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("run", "run a command in a workspace: propose, wait for approval, run, stream");
  command->add_option("--workspace,-w", options->workspace, "the workspace's name")->required();
  command->add_option("--shell", options->shell, "one shell line instead of a command");
  command->add_option("--network", options->network, "none (default), loopback or full")
      ->check(CLI::IsMember({"none", "loopback", "full"}));
  command->add_option("--timeout", options->timeoutSeconds, "seconds");
  command->add_option("--token", options->token, "a bearer token, instead of this user's own rights")
      ->envname("FACTIONOS_TOKEN");
  command->add_option("command", options->argv, "the command, after --");
  command->positionals_at_end();
  command->callback([&context, &action, options]() {
    action = [&context, options]() {
      if (options->shell.empty() == options->argv.empty())
        throw Stop(kUsage, "give a command after --, or --shell LINE");
      return Runner(context, *options).run();
    };
  });
}

}  // namespace factionos::cli
