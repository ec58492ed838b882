// The last snapshot that the broker published, as the bytes that readers get: rendered once, however many
// read it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <kj/async.h>

#include "protocol/json/routes.h"
#include "protocol/json/writer.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::front {

// The field of schema::Snapshot that streams send.
inline constexpr std::string_view kStreamed = "commandCenter";

struct SnapshotView {
  std::uint64_t revision = 0;
  bool ready = false;
  // Reply bodies by the name of the field of schema::Snapshot that a route is served from.
  std::map<std::string_view, std::shared_ptr<const std::string>> bodies;
  // What streams send: the command center's reply with the members "type" and "revision" before it.
  std::shared_ptr<const std::string> first;   // "type":"snapshot"
  std::shared_ptr<const std::string> change;  // "type":"change"
  std::uint32_t actionsWaiting = 0;
  std::uint32_t actionsExecuting = 0;
  std::uint32_t sessionsActive = 0;
};

class SnapshotStore {
 public:
  // Renders what the routes of `routes` name. `routes` outlives this.
  explicit SnapshotStore(const json::RouteTable& routes);
  KJ_DISALLOW_COPY(SnapshotStore);

  void publish(schema::Snapshot::Reader snapshot);
  // Streams end; changed() resolves.
  void close();

  // Null before the first.
  [[nodiscard]] std::shared_ptr<const SnapshotView> latest() const { return latest_; }
  [[nodiscard]] bool closing() const { return closing_; }
  // Resolves at the next publish(), close() or wake().
  kj::Promise<void> changed();
  // Has all streams look around: their logins may have been forgotten.
  void wake();

 private:
  const json::RouteTable& routes_;
  json::ReplyWriter writer_;
  std::shared_ptr<const SnapshotView> latest_;
  bool closing_ = false;
  kj::Own<kj::PromiseFulfiller<void>> change_;
  kj::ForkedPromise<void> changed_;
};

}  // namespace factionos::front
