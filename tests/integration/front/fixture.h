// The real front under its real profile, between a fake broker and raw clients.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/integration/front/fake_broker.h"
#include "tests/integration/front/front_process.h"
#include "tests/integration/front/raw_client.h"
#include "tests/unit/front/inputs.h"

namespace factionos::front::test {

inline BrokerOptions withTokens(BrokerOptions options = {}) {
  using schema::Scope;
  options.tokens = {{std::string(kGoodToken), {Scope::INGEST, Scope::READ, Scope::PROPOSE, Scope::APPROVE}},
                    {"reader", {Scope::READ}},
                    {"producer", {Scope::INGEST}}};
  options.users = {getuid()};
  return options;
}

struct Running {
  explicit Running(const BrokerOptions& options = withTokens(),
                   std::optional<rlim_t> descriptorLimit = std::nullopt)
      : front(descriptorLimit), broker(front.takeLine(), options) {}

  FrontProcess front;
  FakeBroker broker;

  [[nodiscard]] RawClient client() const { return RawClient::tcp(broker.port()); }
  // One request on a connection of its own.
  Answer ask(std::string_view request) const {
    RawClient client = this->client();
    client.send(request);
    return client.read(request.starts_with("HEAD ") ? Body::kNone : Body::kAsSaid);
  }
};

// A request with Host and the given token ("" for none); `lines` are further header lines, each with its
// CRLF.
inline std::string request(std::string_view method, std::string_view target, std::string_view token,
                           std::string_view lines = {}, std::string_view body = {}) {
  std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n";
  if (!token.empty()) text.append("Authorization: Bearer ").append(token).append("\r\n");
  if (!body.empty()) text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  return text.append(lines).append("\r\n").append(body);
}

inline constexpr std::string_view kJson = "Content-Type: application/json\r\n";

}  // namespace factionos::front::test
