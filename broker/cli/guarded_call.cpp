#include "broker/cli/guarded_call.h"

#include <iostream>

namespace factionos::cli {

std::string textOf(simdjson::dom::element element, const char* member) {
  std::string_view value;
  return element[member].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
}

std::uint64_t numberOf(simdjson::dom::element element, const char* member) {
  std::uint64_t value = 0;
  return element[member].get(value) == simdjson::SUCCESS ? value : 0;
}

void stopOn(const HttpReply& reply) {
  simdjson::dom::parser parser;
  simdjson::dom::element problem;
  if (parser.parse(reply.body).get(problem) != simdjson::SUCCESS)
    throw Stop(kFailed, "the broker answered " + std::to_string(reply.status));
  auto line = textOf(problem, "title");
  if (const auto detail = textOf(problem, "detail"); !detail.empty()) line += ": " + detail;
  if (const auto field = textOf(problem, "field"); !field.empty()) line += " (" + field + ")";
  line += (line.ends_with('.') ? " " : ". ") + textOf(problem, "recovery");
  const bool refused = reply.status == 403 || reply.status == 401 || reply.status == 409;
  throw Stop(refused ? kRefused : kFailed, line);
}

namespace {

void showCard(simdjson::dom::element action) {
  const auto card = action["card"].value();
  std::cerr << "waiting for approval: " << textOf(card, "operationClass") << " on " << textOf(card, "target")
            << ", risk " << textOf(card, "risk") << "\n"
            << "  expected change  " << textOf(card, "expectedMutation") << "\n";
  simdjson::dom::array changes;
  if (card["changes"].get(changes) == simdjson::SUCCESS && changes.size() > 0) {
    std::cerr << "  preview         ";
    for (const auto each : changes)
      std::cerr << ' ' << textOf(each, "name") << ' ' << numberOf(each, "count");
    std::cerr << "\n";
  }
  std::cerr << "  rollback         " << textOf(card, "rollback") << "\n"
            << "  operator         factionos approve " << textOf(action, "id") << " --revision "
            << numberOf(action, "revision") << "\n";
}

}  // namespace

GuardedCall::GuardedCall(const Context& context, const std::optional<std::string>& token)
    : client_(context.socketPath(home::kApiSocketName), token) {}

HttpReply GuardedCall::guarded(const std::string& route, const std::string& members) {
  const auto key = randomKey();
  auto reply = client_.post(route, "{" + members + "}", key);
  if (reply.status == 202) reply = afterDecision(reply, route, members, key);
  if (reply.status != 200 && reply.status != 201) stopOn(reply);
  return reply;
}

HttpReply GuardedCall::read(const std::string& route, const std::string& members) {
  auto reply = client_.post(route, "{" + members + "}", {});
  if (reply.status != 200) stopOn(reply);
  return reply;
}

HttpReply GuardedCall::afterDecision(const HttpReply& proposed, const std::string& route,
                                     const std::string& members, const std::string& key) {
  simdjson::dom::parser parser;
  simdjson::dom::element document = parser.parse(proposed.body);
  simdjson::dom::element action = document["action"];
  const auto id = textOf(action, "id");
  showCard(action);
  auto revision = numberOf(action, "revision");
  auto state = textOf(action, "state");
  while (state == "proposed") {
    const auto reply =
        client_.get("/v1/actions/" + id + "?waitMs=30000&seenRevision=" + std::to_string(revision));
    if (reply.status != 200) stopOn(reply);
    document = parser.parse(reply.body);
    action = document["action"];
    revision = numberOf(action, "revision");
    state = textOf(action, "state");
  }
  if (state == "rejected") throw Stop(kRefused, "the operator rejected it");
  if (state == "expired") throw Stop(kRefused, "nobody decided in time");
  return client_.post(route,
                      "{" + members + (members.empty() ? "" : ",") + "\"approval\":{\"actionId\":" +
                          jsonText(id) + ",\"expectedRevision\":" + std::to_string(revision) + "}}",
                      key);
}

}  // namespace factionos::cli
