#include "workers/front/credentials.h"

#include <string_view>

namespace factionos::front {

kj::Promise<LoginOutcome> loginOf(Authenticator& authenticator, const Request& request, Peer& peer) {
  constexpr std::string_view kScheme = "Bearer ";
  const Singleton field = request.field("authorization");
  if (field.presence == Presence::kAbsent) {
    if (peer.transport == Transport::kUnixSocket) return authenticator.peer(peer);
    return LoginOutcome{};
  }
  if (field.presence == Presence::kRepeated ||
      !equalsIgnoreCase(field.value.substr(0, kScheme.size()), kScheme))
    return LoginOutcome{};
  return authenticator.token(field.value.substr(kScheme.size()));
}

}  // namespace factionos::front
