#include "workers/front/snapshots.h"

#include <utility>

#include <capnp/dynamic.h>

namespace factionos::front {
namespace {

std::shared_ptr<const std::string> streamMessage(std::string_view type, std::uint64_t revision,
                                                 const std::string& body) {
  std::string text = R"({"type":")";
  text.append(type).append(R"(","revision":)").append(std::to_string(revision));
  text.append(body == "{}" ? "" : ",").append(body, 1);  // without its opening brace
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

SnapshotStore::SnapshotStore(const json::RouteTable& routes) : routes_(routes), changed_(nullptr) {
  wake();
}

void SnapshotStore::publish(schema::Snapshot::Reader snapshot) {
  auto view = std::make_shared<SnapshotView>();
  view->revision = snapshot.getRevision();
  view->ready = snapshot.getDiagnostics().getReady();
  const auto counts = snapshot.getDiagnostics().getCounts();
  view->actionsWaiting = counts.getActionsWaiting();
  view->actionsExecuting = counts.getActionsExecuting();
  view->sessionsActive = counts.getSessionsActive();
  for (const json::Route& route : routes_.routes()) {
    if (route.snapshot.empty()) continue;
    std::string body;
    writer_.writeMember(capnp::DynamicStruct::Reader(snapshot), route.snapshot, body);
    view->bodies.emplace(route.snapshot, std::make_shared<const std::string>(std::move(body)));
  }
  if (const auto streamed = view->bodies.find(kStreamed); streamed != view->bodies.end()) {
    view->first = streamMessage("snapshot", view->revision, *streamed->second);
    view->change = streamMessage("change", view->revision, *streamed->second);
  }
  latest_ = std::move(view);
  wake();
}

void SnapshotStore::close() {
  closing_ = true;
  wake();
}

kj::Promise<void> SnapshotStore::changed() {
  return changed_.addBranch();
}

void SnapshotStore::wake() {
  auto next = kj::newPromiseAndFulfiller<void>();
  auto due = kj::mv(change_);
  change_ = kj::mv(next.fulfiller);
  changed_ = next.promise.fork();
  if (due.get() != nullptr) due->fulfill();
}

}  // namespace factionos::front
