#include "workers/front/problem_reply.h"

#include <memory>
#include <string>
#include <utility>

#include <capnp/message.h>

#include "protocol/json/writer.h"

namespace factionos::front {
namespace {

constexpr std::string_view kProblemJson = "application/problem+json";

Reply wrap(schema::ProblemCode code, std::string body, std::uint32_t retryAfterMs) {
  constexpr std::uint16_t kUnauthorized = 401;
  Reply reply;
  reply.status = json::problemKind(code).status;
  reply.contentType = kProblemJson;
  reply.body = std::make_shared<const std::string>(std::move(body));
  if (reply.status == kUnauthorized) reply.headers = "WWW-Authenticate: Bearer\r\n";
  // Retry-After counts whole seconds (RFC 9110, 10.2.3); the body has the milliseconds.
  if (retryAfterMs > 0)
    reply.headers += "Retry-After: " + std::to_string((retryAfterMs - 1) / 1000 + 1) + "\r\n";
  return reply;
}

}  // namespace

Reply problemReply(schema::ProblemCode code, std::uint32_t retryAfterMs) {
  capnp::MallocMessageBuilder message;
  auto problem = message.initRoot<schema::Problem>();
  problem.setCode(code);
  problem.setRetryAfterMs(retryAfterMs);
  return problemReply(problem.asReader());
}

Reply problemReply(schema::Problem::Reader problem) {
  std::string body;
  json::writeProblem(problem, body);
  return wrap(problem.getCode(), std::move(body), problem.getRetryAfterMs());
}

Reply problemReply(const json::JsonError& error) {
  std::string body;
  json::writeProblem(error, body);
  return wrap(error.code, std::move(body), 0);
}

Reply methodNotAllowed(std::string_view allow) {
  Reply reply = problemReply(schema::ProblemCode::METHOD_NOT_ALLOWED);
  reply.headers.append("Allow: ").append(allow).append("\r\n");
  return reply;
}

}  // namespace factionos::front
