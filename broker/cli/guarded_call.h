#pragma once

#include <optional>
#include <string>

#include <simdjson.h>

#include "broker/cli/context.h"
#include "broker/cli/http_client.h"

namespace factionos::cli {

// Members of a reply; empty or 0 where there is none.
std::string textOf(simdjson::dom::element element, const char* member);
std::uint64_t numberOf(simdjson::dom::element element, const char* member);

// Ends the command with what the problem says.
[[noreturn]] void stopOn(const HttpReply& reply);

// A request as a person makes it: proposes, shows the card, waits for the operator, sends it again with the
// approval.
class GuardedCall {
 public:
  GuardedCall(const Context& context, const std::optional<std::string>& token);

  // `members`: of the body, without its braces. The reply of what was done; Stop for everything else.
  HttpReply guarded(const std::string& route, const std::string& members);
  // What only reads.
  HttpReply read(const std::string& route, const std::string& members);

  HttpClient& client() { return client_; }

 private:
  HttpReply afterDecision(const HttpReply& proposed, const std::string& route, const std::string& members,
                          const std::string& key);
  HttpClient client_;
};

}  // namespace factionos::cli
