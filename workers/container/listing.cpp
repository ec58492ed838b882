#include "workers/container/listing.h"

#include <utility>

#include "workers/container/json_document.h"

namespace factionos::container {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

// {"label":["a=1","b=2"]}, percent-encoded; ids hold nothing that needs it.
std::string filterOf(std::string_view instance) {
  return "%7B%22label%22%3A%5B%22" + std::string(labels::kManaged) + "%3D1%22%2C%22" +
         std::string(labels::kInstance) + "%3D" + std::string(instance) + "%22%5D%7D";
}

}  // namespace

Listing readListing(std::string_view body, std::string_view instance) {
  Listing listing;
  const JsonDocument document(body);
  if (!document.root() || !document.root()->is_array()) {
    listing.reply.fault = Fault::kBroken;
    return listing;
  }
  for (const Element each : elementsOf(document.root())) {
    const MaybeElement tags = member(each, "Labels");
    const auto id = idOf(each);
    const auto owner = ownerOf(tags);
    const auto life = lifeOf(textOf(member(each, "State")).value_or(""));
    if (!id || !owner || !life || owner->instance != instance) continue;
    if (listing.found.size() == kMostListed) {
      listing.truncated = true;
      break;
    }
    const auto name = textOf(member(tags, labels::kTemplate)).value_or("");
    listing.found.push_back({*id, *owner, {*life}, std::string(isLabel(name) ? name : "")});
  }
  return listing;
}

kj::Promise<Listing> list(Engine& engine, std::string instance, kj::Duration limit) {
  std::string target = "/containers/json?all=1&filters=" + filterOf(instance);
  return engine.ask({.target = std::move(target), .replyBytes = kMostBytes, .limit = limit})
      .then([instance = std::move(instance)](Reply reply) {
        if (!reply.is(200)) return Listing{std::move(reply), {}, false};
        Listing listing = readListing(reply.body, instance);
        if (listing.reply.fault == Fault::kNone) listing.reply.status = 200;
        return listing;
      });
}

}  // namespace factionos::container
