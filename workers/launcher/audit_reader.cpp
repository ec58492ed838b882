#include "workers/launcher/audit_reader.h"

#include <cerrno>
#include <deque>
#include <map>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/enter.h"
#include "sandbox/landlock_audit.h"
#include "workers/common/audited_denial.h"
#include "workers/common/start.h"

namespace factionos::launcher {
namespace {

// This user's domains that have been denied something and live. Numbers grow: the smallest is the oldest.
constexpr std::size_t kMostDomains = 4096;
// A domain is told after its first denial.
constexpr std::size_t kMostWaiting = 64;
constexpr int kRecordsAtOnce = 1000;

class Reader {
 public:
  Reader(int line, uid_t user) : line_(line), user_(user) {}

  void take(const sandbox::ReadRecord& record) {
    if (std::holds_alternative<sandbox::RecordsLost>(record)) return tellLost();
    const auto& read = std::get<sandbox::LandlockRecord>(record);
    if (const auto* denial = std::get_if<sandbox::LandlockDenial>(&read)) return takeDenial(*denial);
    if (const auto* domain = std::get_if<sandbox::LandlockDomain>(&read)) takeDomain(*domain);
  }

 private:
  void takeDenial(const sandbox::LandlockDenial& denial) {
    if (const auto maker = makers_.find(denial.domain); maker != makers_.end())
      return pass(denial, maker->second);
    waiting_.push_back(denial);
    if (waiting_.size() > kMostWaiting) waiting_.pop_front();
  }

  void takeDomain(const sandbox::LandlockDomain& domain) {
    if (domain.maker == 0) {
      makers_.erase(domain.domain);
      return;
    }
    // Sessions are this user's; whoever else makes domains takes no room.
    if (domain.user == user_) remember(domain);
    for (const auto& denial : waiting_) {
      if (denial.domain == domain.domain && domain.user == user_) pass(denial, domain.maker);
    }
    std::erase_if(waiting_, [&domain](const auto& denial) { return denial.domain == domain.domain; });
  }

  void remember(const sandbox::LandlockDomain& domain) {
    makers_[domain.domain] = domain.maker;
    if (makers_.size() <= kMostDomains) return;
    makers_.erase(makers_.begin());
    tellLost();  // its maker is told by the kernel once
  }

  void pass(const sandbox::LandlockDenial& denial, pid_t maker) {
    send({denial.domain, maker, denial.blocked, denial.port, denial.path});
  }

  void tellLost() {
    lost_ = true;
    if (write({})) lost_ = false;
  }

  void send(const worker::AuditedDenial& denial) {
    if (lost_) tellLost();
    if (!write(denial)) lost_ = true;
  }

  [[nodiscard]] bool write(const worker::AuditedDenial& denial) const {
    const auto bytes = worker::encode(denial);
    if (::send(line_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EPIPE || errno == ECONNRESET) _exit(0);
    return false;
  }

  int line_;
  uid_t user_;
  bool lost_ = false;  // since it was told last
  std::map<std::uint64_t, pid_t> makers_;
  std::deque<sandbox::LandlockDenial> waiting_;  // for their domain's record
};

[[noreturn]] void readAudit(int socket, int line, uid_t user) {
  Reader reader(line, user);
  while (true) {
    pollfd ready[] = {{socket, POLLIN, 0}, {line, 0, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) _exit(worker::kInternalError);
    if (ready[1].revents != 0) _exit(0);
    sandbox::ReadRecord record;
    for (int i = 0; i < kRecordsAtOnce && sandbox::readLandlockAudit(socket, record); ++i)
      reader.take(record);
  }
}

}  // namespace

AuditReader startAuditReader(sandbox::Fd socket) {
  worker::AuditedLine line = worker::makeAuditedLine();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child > 0) return {child, std::move(line.to)};
  const uid_t user = getuid();  // while it may ask
  try {
    prctl(PR_SET_NAME, "audit-reader", 0, 0, 0);  // for who lists processes
    sandbox::enter(
        auditReaderPolicy({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, socket.get(), line.from.get()}));
    readAudit(socket.get(), line.from.get(), user);
  } catch (const std::exception&) {
  }
  _exit(worker::kSetupFailed);
}

}  // namespace factionos::launcher
