// Which session a record of the kernel's is about. Told by numbers alone: who made the domain, and whose
// child that is.
#pragma once

#include <cstdint>
#include <map>

#include <sys/types.h>

#include <kj/async.h>

#include "protocol/rpc/loop.h"
#include "workers/launcher/audit_reader.h"
#include "workers/launcher/reaper.h"

namespace factionos::launcher {

class AuditRoutes final : private kj::TaskSet::ErrorHandler {
 public:
  // `loop` and `reaper` outlive it.
  AuditRoutes(rpc::Loop& loop, Reaper& reaper, AuditReader reader);
  KJ_DISALLOW_COPY(AuditRoutes);

  // What is denied to the command of this session goes to `line` (worker::AuditedDenial) from now on; what it
  // has no room for is lost.
  void add(pid_t session, rpc::OwnFd line);
  void remove(pid_t session);
  // Whether there is anybody left to read them.
  [[nodiscard]] bool areRead() const { return read_; }

 private:
  kj::Promise<void> run();
  // False: the line has ended.
  bool passAll();
  void pass(std::uint64_t domain, pid_t maker, const void* datagram, std::size_t size);
  pid_t sessionOf(std::uint64_t domain, pid_t maker);
  void taskFailed(kj::Exception&&) override {}

  rpc::Loop& loop_;
  sandbox::Fd line_;
  bool read_ = true;
  std::map<pid_t, rpc::OwnFd> sessions_;
  std::map<std::uint64_t, pid_t> domains_;  // 0: nobody's of ours
  kj::TaskSet tasks_;
};

}  // namespace factionos::launcher
