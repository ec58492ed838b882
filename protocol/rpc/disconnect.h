#pragma once

namespace factionos::rpc {

/// Why a connection ended.
enum class DisconnectCause {
  kPeerClosed,         ///< end of stream, a lost process, or the peer said goodbye
  kProtocolViolation,  ///< what the peer sent is no RPC, is over a limit, or breaks the protocol's rules
  kStalled,            ///< the peer left our messages unread for too long
  kClosedHere,         ///< Connection::close()
};

}  // namespace factionos::rpc
