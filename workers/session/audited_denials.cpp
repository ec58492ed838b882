#include "workers/session/audited_denials.h"

#include <algorithm>

#include <sys/socket.h>
#include <sys/syscall.h>

namespace factionos::session {
namespace {

Denial onFile(DeniedOperation operation, const std::string& path, const Surroundings& around) {
  return {operation, DenialSource::kLandlockAudit, placeOf(path, around), 0};
}

Denial onPort(std::uint16_t port, std::uint16_t apiPort) {
  Denial denial{DeniedOperation::kConnect, DenialSource::kLandlockAudit, DeniedPlace::kNetwork, AF_INET};
  if (port != 0 && port == apiPort) denial = {denial.operation, denial.source, DeniedPlace::kApi, 0};
  return denial;
}

Denial ofCall(long number, DeniedPlace place) {
  return {DeniedOperation::kCall, DenialSource::kLandlockAudit, place, static_cast<std::uint16_t>(number)};
}

Denial meant(const worker::AuditedDenial& denial, const Surroundings& around, std::uint16_t apiPort) {
  using sandbox::Blocked;
  switch (denial.maker == 0 ? Blocked::kOther : denial.blocked) {
    case Blocked::kRead:
      return onFile(DeniedOperation::kRead, denial.path, around);
    case Blocked::kWrite:
      return onFile(DeniedOperation::kWrite, denial.path, around);
    case Blocked::kCreate:
      return onFile(DeniedOperation::kCreate, denial.path, around);
    case Blocked::kExecute:
      return onFile(DeniedOperation::kExecute, denial.path, around);
    case Blocked::kDevice:
      return ofCall(SYS_ioctl, placeOf(denial.path, around));
    case Blocked::kConnectTcp:
      return onPort(denial.port, apiPort);
    case Blocked::kBindTcp:
      return ofCall(SYS_bind, DeniedPlace::kNone);
    case Blocked::kAbstractSocket:
      return {DeniedOperation::kConnect, DenialSource::kLandlockAudit, DeniedPlace::kNetwork, AF_UNIX};
    case Blocked::kOther:
      break;
  }
  return further(DenialSource::kLandlockAudit);
}

bool isSame(const Denial& a, const Denial& b) {
  return a.operation == b.operation && a.place == b.place && a.detail == b.detail;
}

}  // namespace

void AuditedDenials::add(const worker::AuditedDenial& denial, const Surroundings& around,
                         std::uint16_t apiPort) {
  Denial kind = meant(denial, around, apiPort);
  const auto find = [this](const Denial& wanted) {
    return std::ranges::find_if(rows_, [&wanted](const auto& row) { return isSame(row.denial, wanted); });
  };
  auto row = find(kind);
  if (row == rows_.end() && rows_.size() >= kDenialRows) {
    kind = further(DenialSource::kLandlockAudit);
    row = find(kind);
  }
  const std::int64_t now = nowMs();
  if (row == rows_.end()) row = rows_.insert(row, {kind, 0, now, now});
  ++row->count;
  row->lastMs = now;
}

std::vector<DenialCount> AuditedDenials::with(std::vector<DenialCount> heard) const {
  const std::size_t own = heard.size();
  for (const DenialCount& row : rows_) {
    const auto end = heard.begin() + static_cast<std::ptrdiff_t>(own);
    const auto same = std::find_if(heard.begin(), end, [&row](const DenialCount& other) {
      return other.denial.source == DenialSource::kLandlock && isSame(other.denial, row.denial);
    });
    if (same == end) {
      heard.push_back(row);
      continue;
    }
    same->count = std::max(same->count, row.count);
    same->firstMs = std::min(same->firstMs, row.firstMs);
    same->lastMs = std::max(same->lastMs, row.lastMs);
  }
  return heard;
}

}  // namespace factionos::session
