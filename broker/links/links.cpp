#include "broker/links/links.h"

namespace factionos::broker {

rpc::ConnectionOptions optionsOf(const LinkRow& row) {
  return {.role = row.serves == Serves::kPeer ? rpc::Role::kClient : rpc::Role::kServer,
          .maxFdsPerMessage = row.descriptors,
          .traversalLimitInWords = row.messageBytes / 8,
          .nestingLimit = static_cast<int>(row.nesting),
          .flowLimitInWords = row.unansweredBytes / 8,
          .maxGivenCapabilities = row.held};
}

}  // namespace factionos::broker
