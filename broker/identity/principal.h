#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "broker/home/config.h"
#include "broker/home/mode.h"
#include "broker/identity/scope.h"

namespace factionos::identity {

enum class PrincipalKind : std::uint8_t {
  kToken,     // a bearer token
  kUid,       // the peer of a unix socket, by SO_PEERCRED
  kOperator,  // a connection that answered the broker's challenge with the operator's key
};
const char* label(PrincipalKind kind);  // "token", "uid", "operator"

// Who asks. Comes from a token, the kernel or the operator's key alone; never from a body, a role or a UI
// state.
struct Principal {
  std::string name;  // a label; unique among principals of its kind
  PrincipalKind kind = PrincipalKind::kToken;
  ScopeSet scopes;

  // What keys of idempotency, ownership of sessions and audit use: "token:NAME", "uid:NAME", "operator".
  std::string id() const;
  bool operator==(const Principal&) const = default;
};

// The operator decides and administers, and proposes nothing: so it can never approve an action of its own.
Principal operatorPrincipal();

// The peers of the unix sockets. User mode: the broker's own uid, `read, propose`, nobody else. System mode:
// the listed uids with their listed scopes, and nobody else, also not the broker's own uid (commands run
// under it).
class UidTable {
 public:
  static UidTable fromConfig(const home::Config& config, uid_t brokerUid);

  // Nothing: refuse the connection's requests with 403.
  std::optional<Principal> find(uid_t uid) const;

 private:
  struct Row {
    uid_t uid;
    Principal principal;
  };
  std::vector<Row> rows_;
};
inline constexpr const char* kOwnerName = "owner";  // of the broker's own uid in user mode

}  // namespace factionos::identity
