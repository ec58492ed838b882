// Who works on the files of a live broker's workspace.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "live_broker.h"

namespace factionos::test {

inline constexpr const char* kAllowed =
    "[[rule]]\nfamily = \"file\"\noperation = \"*\"\ndecision = \"allow\"\n"
    "until = 2099-01-01T00:00:00Z\n";

inline std::string contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// An agent that works on files.
class Agent {
 public:
  explicit Agent(LiveBroker& broker, std::string name = {})
      : broker_(broker), token_(broker.token("read,propose", name)) {}

  Reply ask(const std::string& operation, const std::string& members) {
    return broker_.post("/v1/file/" + operation, body(members), token_);
  }
  Reply change(const std::string& operation, const std::string& members, const std::string& key,
               const std::string& approval = {}) {
    return broker_.post("/v1/file/" + operation, body(members + approval), token_, key);
  }
  static std::string approval(const std::string& id, std::uint64_t revision = 2) {
    return R"(,"approval":{"actionId":")" + id + R"(","expectedRevision":)" + std::to_string(revision) + "}";
  }
  // Proposes, has it approved, does it.
  Reply carryOut(const std::string& operation, const std::string& members, const std::string& key) {
    const auto proposed = change(operation, members, key);
    if (proposed.status != 202) return proposed;
    const auto id = proposed.at("/action/id");
    EXPECT_EQ(broker_.approve(id).status, 0);
    return change(operation, members, key, approval(id));
  }
  const std::string& token() const { return token_; }

 private:
  static std::string body(const std::string& members) { return R"({"workspace":"demo",)" + members + "}"; }
  LiveBroker& broker_;
  std::string token_;
};

}  // namespace factionos::test
