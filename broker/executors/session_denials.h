#pragma once

#include <cstdint>
#include <vector>

#include <capnp/list.h>

#include "broker/actions/outgoing.h"
#include "broker/audit/label.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// What a session's walls refused, as its supervisor counts it: whole lists, each with the counts of all
// before.
class SessionDenials {
 public:
  // Rows whose texts are no labels are passed over. Whether anything is new.
  bool take(capnp::List<schema::DenialCount>::Reader rows);
  std::uint64_t total() const { return total_; }
  void fill(actions::Outgoing<redaction::Boundary::kApiResponse, schema::TerminalSession> session) const;

 private:
  struct Row {
    audit::Label source;
    audit::Label operation;
    audit::Label target;
    std::uint64_t count = 0;
    std::int64_t firstAt = 0;
    std::int64_t lastAt = 0;
  };
  static constexpr unsigned kMostRows = 192;  // above what a session counts apart

  std::vector<Row> rows_;
  std::uint64_t total_ = 0;
};

}  // namespace factionos::broker
