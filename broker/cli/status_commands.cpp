#include <CLI/CLI.hpp>
#include <iostream>

#include <simdjson.h>

#include "broker/cli/commands.h"
#include "broker/cli/http_client.h"

namespace factionos::cli {
namespace {

void printMember(simdjson::dom::element element, const std::string& indent) {
  for (const auto field : simdjson::dom::object(element)) {
    if (field.value.is_object()) {
      std::cout << indent << field.key << "\n";
      printMember(field.value, indent + "  ");
    } else if (field.value.is_array()) {
      if (simdjson::dom::array(field.value).size() == 0) continue;
      std::cout << indent << field.key << "  " << simdjson::minify(field.value) << "\n";
    } else {
      std::cout << indent << field.key << "  " << simdjson::minify(field.value) << "\n";
    }
  }
}

void printFamilies(simdjson::dom::element diagnostics) {
  for (const auto family : simdjson::dom::array(diagnostics["families"])) {
    std::string_view reason;
    std::cout << "  " << std::string_view(family["family"]) << "  " << std::string_view(family["status"]);
    if (family["reason"].get(reason) == simdjson::SUCCESS) std::cout << "  (" << reason << ")";
    std::cout << "\n";
  }
}

int status(const Context& context, const std::optional<std::string>& token) {
  HttpClient client(context.socketPath(home::kApiSocketName), token);
  const auto reply = client.get("/v1/diagnostics");
  if (reply.status != 200)
    throw Stop(reply.status == 401 || reply.status == 403 ? kRefused : kFailed,
               "the broker refuses: status " + std::to_string(reply.status));
  if (context.json()) {
    std::cout << reply.body << "\n";
    return kDone;
  }
  simdjson::dom::parser parser;
  const simdjson::dom::element document = parser.parse(reply.body);
  const auto diagnostics = document["diagnostics"].value();
  std::cout << "families\n";
  printFamilies(diagnostics);
  for (const auto field : simdjson::dom::object(diagnostics)) {
    if (field.key == "families") continue;
    if (field.value.is_object()) {
      std::cout << field.key << "\n";
      printMember(field.value, "  ");
    } else {
      std::cout << field.key << "  " << simdjson::minify(field.value) << "\n";
    }
  }
  return kDone;
}

}  // namespace

void addStatusCommands(CLI::App& app, Context& context, Action& action) {
  auto token = std::make_shared<std::optional<std::string>>();
  auto* command = app.add_subcommand("status", "what works here, and what does not and why");
  command
      ->add_option("--token", *token, "a bearer token with the scope read, instead of this user's own rights")
      ->envname("FACTIONOS_TOKEN");
  command->callback(
      [&context, &action, token]() { action = [&context, token]() { return status(context, *token); }; });
}

}  // namespace factionos::cli
