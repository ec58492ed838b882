#pragma once

#include <map>
#include <string>

#include <kj/timer.h>

#include "broker/api/request_table.h"
#include "broker/core/core.h"
#include "broker/executors/terminal.h"
#include "protocol/schemas/front.capnp.h"

namespace factionos::broker {

// Puts into the audit what the front refuses without asking. Nobody fills the audit with it: each principal
// has a burst, and then no more than its share.
class RefusalLog {
 public:
  static constexpr double kBurst = 16;
  static constexpr kj::Duration kRefill = 10 * kj::SECONDS;  // of one record

  // Both outlive this, and this what it hands out.
  RefusalLog(Core& core, const RequestTable& table) : core_(core), table_(table) {}

  schema::Refusals::Client of(const Caller& caller);

 private:
  class Server;
  struct Share {
    double left = kBurst;
    kj::TimePoint at;
  };
  bool take(const std::string& principal);
  kj::Promise<void> record(const std::string& principal, std::uint16_t method, kj::StringPtr field);

  Core& core_;
  const RequestTable& table_;
  std::map<std::string, Share> shares_;  // by principals, which the operator made: as few as those
};

}  // namespace factionos::broker
