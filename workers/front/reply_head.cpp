#include "workers/front/reply_head.h"

#include "workers/front/parser.h"

namespace factionos::front {
namespace {

void append(std::string& to, std::string_view name, std::string_view value) {
  to.append(name).append(": ").append(value).append("\r\n");
}

std::string beginHead(std::uint16_t status, std::string_view requestId) {
  std::string head;
  head.reserve(320);
  head.append("HTTP/1.1 ")
      .append(std::to_string(status))
      .append(" ")
      .append(reasonPhrase(status))
      .append("\r\n");
  append(head, "X-Request-Id", requestId);
  append(head, "X-Content-Type-Options", "nosniff");
  append(head, "Cache-Control", "no-store");
  return head;
}

}  // namespace

std::string replyHead(const Reply& reply, std::size_t bodyBytes, std::string_view requestId) {
  constexpr std::uint16_t kNoContent = 204;
  std::string head = beginHead(reply.status, requestId);
  append(head, "Content-Type", reply.contentType);
  if (reply.status != kNoContent) append(head, "Content-Length", std::to_string(bodyBytes));
  head.append(reply.headers);
  if (reply.after == Persistence::kClose) append(head, "Connection", "close");
  return head.append("\r\n");
}

std::string streamHead(const Reply& reply, std::string_view requestId) {
  std::string head = beginHead(reply.status, requestId);
  append(head, "Content-Type", reply.contentType);
  head.append(reply.headers);
  append(head, "Connection", "close");
  return head.append("\r\n");
}

std::string webSocketHead(std::string_view key, std::string_view requestId) {
  std::string head = beginHead(101, requestId);
  append(head, "Upgrade", "websocket");
  append(head, "Connection", "Upgrade");
  append(head, "Sec-WebSocket-Accept", webSocketAccept(key));
  return head.append("\r\n");
}

}  // namespace factionos::front
