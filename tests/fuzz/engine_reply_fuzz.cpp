// What a container engine may send: HTTP replies, frames of output, and JSON. Traps where the way of cutting
// makes a difference.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "workers/container/frames.h"
#include "workers/container/http_reply.h"
#include "workers/container/inspect.h"
#include "workers/container/listing.h"

using namespace factionos::container;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

struct Read {
  ReplyParser::Status status = ReplyParser::Status::kHeader;
  unsigned code = 0;
  std::string body;
  std::string rest;
};

Read readReply(std::string_view bytes, std::size_t step, ReplyParser::Body kind) {
  using Status = ReplyParser::Status;
  ReplyParser parser(kind, 4096);
  Read read;
  while (!bytes.empty() && read.status != Status::kDone && read.status != Status::kBroken) {
    const std::string_view part = bytes.substr(0, step);
    bytes.remove_prefix(part.size());
    read.status = parser.feed(part);
  }
  if (read.status != Status::kDone && read.status != Status::kBroken) read.status = parser.finish();
  if (read.status != Status::kDone) return read;
  read.code = parser.status();
  read.body = parser.takeBody();
  read.rest = parser.takeRest() + std::string(bytes);
  require(read.body.size() <= 4096);
  return read;
}

// Each source's own bytes: pieces may be cut anywhere.
struct Output {
  std::string out;
  std::string errors;
  bool broken = false;
  bool operator==(const Output&) const = default;
};

Output readFrames(std::string_view bytes, std::size_t step) {
  FrameReader frames;
  Output output;
  while (!bytes.empty() && !frames.broken()) {
    std::string_view part = bytes.substr(0, step);
    bytes.remove_prefix(part.size());
    while (!part.empty() && !frames.broken()) {
      const FrameReader::Piece piece = frames.next(part);
      (piece.source == Source::kOut ? output.out : output.errors) += piece.bytes;
    }
  }
  output.broken = frames.broken();
  return output;
}

void readJson(std::string_view bytes) {
  const JsonDocument document(bytes);
  static const Spec spec = [] {
    Spec made;
    made.argv = {"/bin/true"};
    made.owner = {"i", "r", "a", 1, 1, "p"};
    made.mounts = {{"/srv/x", kWorkspaceTarget, true}};
    return made;
  }();
  for (const Dialect dialect : {Dialect::kDocker, Dialect::kPodman}) {
    (void)differenceFrom(document.root(), spec, {dialect, false});
    (void)isOfSpec(document.root(), spec, {dialect, true});
  }
  (void)stateOf(document.root());
  if (const auto owner = ownerOf(labelsIn(document.root())))
    require(isId(owner->instance) && isId(owner->action));
  for (const Listed& each : readListing(bytes, "i").found)
    require(isContainerId(each.id) && each.owner.instance == "i");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t step = std::max<std::size_t>(data[0] % 32, 1);
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);

  for (const auto kind : {ReplyParser::Body::kCollect, ReplyParser::Body::kNone}) {
    const Read whole = readReply(bytes, bytes.size(), kind);
    const Read cut = readReply(bytes, step, kind);
    require(whole.status == cut.status && whole.code == cut.code && whole.body == cut.body &&
            whole.rest == cut.rest);
  }
  require(readFrames(bytes, bytes.size()) == readFrames(bytes, step));
  readJson(bytes);
  return 0;
}
