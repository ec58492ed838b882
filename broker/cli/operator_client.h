#pragma once

#include <memory>
#include <optional>
#include <string>

#include "broker/cli/context.h"
#include "broker/identity/operator_key.h"
#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "protocol/schemas/operator.capnp.h"

namespace factionos::cli {

// Where the operator's key comes from: the home's operator.key or --key-file, opened with a passphrase from
// the terminal or --passphrase-file.
struct KeySource {
  std::optional<std::string> keyFile;
  std::optional<std::string> passphraseFile;

  identity::OperatorKey open(const Context& context) const;
};

// A line to the broker's operator socket on which the key was proven.
class OperatorClient {
 public:
  // Stop: kUnreachable, kRefused (wrong key), kFailed (key or passphrase).
  OperatorClient(const Context& context, const KeySource& source);

  schema::Operator::Client& service() { return *operator_; }
  kj::WaitScope& waitScope() { return loop_.waitScope(); }
  const identity::OperatorKey& key() const { return key_; }

 private:
  rpc::Loop loop_;
  identity::OperatorKey key_;
  std::unique_ptr<rpc::Connection> line_;
  std::optional<schema::Operator::Client> operator_;
};

// Stop(kRefused or kFailed) with the problem's title, detail and recovery.
void stopOn(schema::Problem::Reader problem);

}  // namespace factionos::cli
