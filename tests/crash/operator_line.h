#pragma once

#include <optional>
#include <string>

#include "broker/identity/operator_key.h"
#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/operator.capnp.h"

namespace factionos::test {

// A line to operator.sock on which the key was proven. Throws kj::Exception if nobody answers.
class OperatorLine {
 public:
  OperatorLine(const std::string& home, const identity::OperatorKey& key);

  schema::Operator::Client& service() { return *operator_; }
  kj::WaitScope& waitScope() { return loop_.waitScope(); }
  // The problem's code, if there was one.
  std::optional<schema::ProblemCode> decide(const std::string& action, std::uint64_t revision,
                                            schema::Verdict verdict);

 private:
  rpc::Loop loop_;
  const identity::OperatorKey& key_;
  std::optional<rpc::Connection> line_;
  std::optional<schema::Operator::Client> operator_;
};

identity::OperatorKey operatorKeyOf(const std::string& home);  // a plain one

}  // namespace factionos::test
