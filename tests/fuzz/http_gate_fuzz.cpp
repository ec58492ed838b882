// The way of hostile bytes through the front: gate, split, semantics, host rules, parser. Traps where two
// readings differ.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "workers/front/gate.h"
#include "workers/front/host_rules.h"
#include "workers/front/parser.h"
#include "workers/front/semantics.h"

using namespace factionos::front;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

HeaderGate run(std::string_view bytes, std::size_t step) {
  HeaderGate gate;
  for (std::size_t at = 0; at < bytes.size() && gate.state() == HeaderGate::State::kMore; at += step)
    gate.feed(bytes.substr(at, step));
  return gate;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = std::max<std::size_t>(data[0] % 32, 1);
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const HeaderGate gate = run(bytes, bytes.size() + 1);
  const HeaderGate again = run(bytes, step);
  require(gate.state() == again.state() && gate.refusal() == again.refusal());
  if (gate.state() != HeaderGate::State::kComplete) return 0;
  require(gate.length() == again.length() && gate.length() <= kMaxHeaderBytes);

  const std::string_view block = bytes.substr(0, gate.length());
  require(block.find('\0') == std::string_view::npos && block.ends_with("\r\n\r\n"));
  HeaderBlock head;
  splitHeaderBlock(block, head);
  require(head.target.starts_with('/') && head.fields.size() <= kMaxFields);
  Semantics semantics;
  if (checkSemantics(head, semantics) != Refusal::kNone) return 0;
  const HostRules rules({"dev.box"}, {"https://dash.example"});
  (void)rules.host(semantics.host);
  (void)rules.origin(findField(head, "origin").value, semantics.host);

  RequestParser parser;
  auto status = parser.putHeader(block, head, semantics);
  std::string_view rest = bytes.substr(gate.length());
  while (status == RequestParser::Status::kMore && !rest.empty()) {
    std::size_t used = 0;
    status = parser.putBody(rest.substr(0, step), used);
    if (used == 0) break;
    rest.remove_prefix(used);
  }
  if (status == RequestParser::Status::kDone) require(parser.takeBody().size() == semantics.contentLength);
  return 0;
}
