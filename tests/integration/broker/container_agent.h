#pragma once

#include <cstdint>
#include <string>

#include "live_broker.h"

namespace factionos::test {

// A broker whose container worker is the stand-in (stand_in_container.cpp), and an agent that speaks to it.
// Templates "echo" … run one word of its script each.
class ContainerAgent {
 public:
  enum class Policy { kShipped, kAllowed };  // allowed: every operation of the family, without being asked
  explicit ContainerAgent(Policy policy = Policy::kAllowed, const std::string& moreConfig = {});
  ~ContainerAgent();

  LiveBroker& broker() { return *broker_; }
  const std::string& token() const { return token_; }
  // Of the stand-in's engine.
  std::string folder() const { return folder_; }
  std::size_t containers() const;  // that are there
  std::size_t starts() const;      // that there ever were
  void engineFile(const std::string& name, const std::string& text = {}) const;
  void removeEngineFile(const std::string& name) const;

  Reply get(const std::string& target) { return broker_->get(target, token_); }
  Reply post(const std::string& target, const std::string& members, const std::string& key = uniqueKey(),
             const std::string& approval = {}) {
    return broker_->post(target, "{" + members + approval + "}", token_, key);
  }
  static std::string approval(const std::string& id, std::uint64_t revision = 2, bool first = false);
  static std::string run(const std::string& made) {
    return R"("workspace":"demo","template":")" + made + "\"";
  }
  static std::string task(const std::string& made, const std::string& more = {}) {
    return R"("workspace":"demo","executable":{"kind":"container","template":")" + made + "\"}" + more;
  }
  static std::string expected(std::uint64_t revision) {
    return R"("expectedRevision":)" + std::to_string(revision);
  }
  // A run from request to end: its detail.
  Reply outcome(const std::string& made);
  Reply ended(const std::string& runId);
  // A task of this template; its id.
  std::string queued(const std::string& made, const std::string& more = {});
  Reply taskUntil(const std::string& id, const std::string& state);

 private:
  std::string folder_;
  std::unique_ptr<LiveBroker> broker_;
  std::string token_;
};

}  // namespace factionos::test
