#include "broker/executors/worker_end.h"

#include <csignal>
#include <utility>

#include "broker/core/log.h"
#include "protocol/rpc/deadline.h"

namespace factionos::broker {
namespace {

// The launcher reaps within milliseconds; what takes longer is alive and only its line is gone.
constexpr auto kReapLimit = 5 * kj::SECONDS;

// A refused call ends a worker by the handler that tells its number, or by SIGSYS.
bool refusedCall(schema::WorkerExit::Reader exit) {
  return exit.getSyscall() >= 0 || (exit.isSignal() && exit.getSignal() == SIGSYS);
}

Field callOf(schema::WorkerExit::Reader exit) {
  if (exit.getSyscall() < 0) return {"syscall", "unknown"};
  return {"syscall", static_cast<std::uint64_t>(exit.getSyscall())};
}

}  // namespace

kj::Promise<WorkerEnd> endOf(kj::Timer& timer, schema::Worker::Client process, redaction::Literal worker,
                             std::optional<audit::Label> session) {
  using Exited = capnp::Response<schema::Worker::ExitedResults>;
  return rpc::withDeadline(timer, kReapLimit, kj::Promise<Exited>(process.exitedRequest().send()))
      .then(
          [worker, session = std::move(session)](Exited&& response) {
            const auto exit = response.getExit();
            if (!refusedCall(exit)) return WorkerEnd::kLost;
            if (session) {
              log(Level::kWarning, "worker_misbehaved",
                  {{"worker", worker}, {"session", *session}, callOf(exit)});
            } else {
              log(Level::kWarning, "worker_misbehaved", {{"worker", worker}, callOf(exit)});
            }
            return WorkerEnd::kMisbehaved;
          },
          [](kj::Exception&&) { return WorkerEnd::kLost; })
      .attach(kj::mv(process));
}

}  // namespace factionos::broker
