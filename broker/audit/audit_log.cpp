#include "broker/audit/audit_log.h"

#include <atomic>
#include <utility>
#include <vector>

#include <sodium.h>

#include "broker/audit/log_writer.h"
#include "broker/audit/scan.h"

namespace factionos::audit {
namespace {

constexpr std::string_view kLogRole = "audit log";

[[noreturn]] void refuse(AuditFault fault, const std::string& what) {
  throw AuditUnavailable(fault, "audit log: " + what);
}

// What the scan of the current epoch tells about decisions that the state may not have committed.
class Decisions {
 public:
  void see(const ParsedLine& parsed) {
    const std::uint64_t sequence = parsed.line.sequence;
    if (std::holds_alternative<Record>(parsed.line.body)) {
      records_.push_back(sequence);
    } else if (const auto* voided = std::get_if<Void>(&parsed.line.body)) {
      std::erase_if(records_,
                    [voided](std::uint64_t each) { return each >= voided->first && each <= voided->last; });
    }
  }

  // The records above `committed` up to `end` that no void line names yet.
  std::optional<AppendedRange> uncommitted(std::uint64_t committed, std::uint64_t end) const {
    std::optional<AppendedRange> found;
    for (const std::uint64_t sequence : records_) {
      if (sequence <= committed || sequence > end) continue;
      if (!found) found = AppendedRange{sequence, sequence};
      found->last = sequence;
    }
    return found;
  }

 private:
  std::vector<std::uint64_t> records_;
};

void checkScan(const Scan& scan, const HeadPair& heads, const AuditOptions& options) {
  if (scan.breach != Breach::kNone) {
    refuse(AuditFault::kTampered, "it is not what was written (" + std::string(nameOf(scan.breach)) +
                                      " at line " + std::to_string(scan.breachAt) +
                                      "); see `factionos audit verify`");
  }
  if (scan.signedPastHead.size() > 1 || (heads.damaged && scan.signedPastHead.size() != 1)) {
    refuse(AuditFault::kTampered, "its head was changed; see `factionos audit verify`");
  }
  if (options.committedThrough && *options.committedThrough > scan.chain.signedEnd().sequence) {
    refuse(AuditFault::kBehindState, "the state has seen later lines: an older copy was put in its place");
  }
  if (options.anchor != nullptr && options.anchor->last() &&
      options.anchor->last()->sequence > scan.chain.signedEnd().sequence) {
    refuse(AuditFault::kTampered,
           "the anchor has seen later lines: an older copy of the home was put in its place");
  }
}

// The key that the log's last seal names, brought to its place if a crash left the replacement half done.
EpochKey settleKeys(const AuditPaths& paths, const Chain& chain, FileOps& ops) {
  std::optional<EpochKey> current = EpochKey::load(paths.key());
  std::optional<EpochKey> next = EpochKey::load(paths.nextKey());
  if (current && current->publicKey() == chain.key()) {
    EpochKey::discard(paths.nextKey(), ops);
    return std::move(*current);
  }
  if (!next || next->publicKey() != chain.key()) {
    refuse(AuditFault::kTampered, "its key is not the one that the last seal names");
  }
  EpochKey::replace(paths.nextKey(), paths.key(), ops);
  return std::move(*next);
}

template <typename Work>
auto translated(Work&& work) {
  try {
    return work();
  } catch (const FileError& error) {
    throw AuditUnavailable(faultOf(error), error.what());
  }
}

}  // namespace

AuditFault faultOf(const FileError& error) {
  switch (error.fault()) {
    case FileFault::kMissing:
      return AuditFault::kMissing;
    case FileFault::kExists:
      return AuditFault::kExists;
    case FileFault::kUnsafe:
      return AuditFault::kUnsafeFile;
    case FileFault::kBusy:
      return AuditFault::kBusy;
    case FileFault::kIo:
      break;
  }
  return AuditFault::kWrite;
}

struct AuditLog::State {
  State(LogWriter made, Anchor* theAnchor) : writer(std::move(made)), anchor(theAnchor) {}

  LogWriter writer;
  Anchor* anchor;
  std::atomic<bool> healthy{true};
  std::atomic<bool> anchored{true};

  void tellAnchor() {
    if (anchor != nullptr) anchored = anchor->note({writer.end().sequence, writer.end().hash});
  }

  // Runs one write and remembers whether it worked.
  template <typename Work>
  auto guarded(Work&& work) {
    struct Mark {
      std::atomic<bool>& healthy;
      bool done = false;
      ~Mark() { healthy = done; }
    } mark{healthy};
    if constexpr (std::is_void_v<decltype(work())>) {
      translated(std::forward<Work>(work));
      mark.done = true;
      tellAnchor();
    } else {
      auto result = translated(std::forward<Work>(work));
      mark.done = true;
      tellAnchor();
      return result;
    }
  }
};

AuditLog::AuditLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
AuditLog::~AuditLog() = default;

std::string AuditLog::create(const AuditPaths& paths, const AuditOptions& options) {
  if (sodium_init() < 0) refuse(AuditFault::kWrite, "no random numbers");
  return translated([&] { return LogWriter::create(paths, options); });
}

std::unique_ptr<AuditLog> AuditLog::open(const AuditPaths& paths, const AuditOptions& options) {
  if (sodium_init() < 0) refuse(AuditFault::kWrite, "no random numbers");
  return translated([&] {
    FileOps real;
    FileOps& ops = options.files != nullptr ? *options.files : real;
    FileDescriptor log = openOwn(paths.log(), OpenFor::kWrite, kLogRole);
    lockAlone(log, kLogRole);
    HeadFile head = HeadFile::open(paths.head());
    const HeadPair heads = head.state();
    if (!heads.newest)
      refuse(AuditFault::kTampered, "its head is not readable; see `factionos audit verify`");
    Decisions decisions;
    const Scan scan = scanLog(log, Chain::Start::kSeal, heads.newest->epochStart, sizeOf(log, kLogRole),
                              *heads.newest, [&decisions](const ParsedLine& line) { decisions.see(line); });
    checkScan(scan, heads, options);
    EpochKey key = settleKeys(paths, scan.chain, ops);
    LogWriter writer(paths, options, LogFiles{std::move(log), std::move(head), std::move(key)}, scan);
    if (options.committedThrough) {
      writer.markVoid(decisions.uncommitted(*options.committedThrough, scan.chain.signedEnd().sequence));
    }
    writer.roll();
    auto state = std::make_unique<State>(std::move(writer), options.anchor);
    state->tellAnchor();
    return std::unique_ptr<AuditLog>(new AuditLog(std::move(state)));
  });
}

AppendedRange AuditLog::append(std::span<const Record> records) {
  return state_->guarded([&] { return state_->writer.append(records); });
}

void AuditLog::markVoid(AppendedRange range) {
  state_->writer.markVoid(range);
}

void AuditLog::roll() {
  state_->guarded([&] { state_->writer.roll(); });
}

std::uint64_t AuditLog::lastSequence() const {
  return state_->writer.end().sequence;
}
Digest AuditLog::lastHash() const {
  return state_->writer.end().hash;
}
std::uint64_t AuditLog::epoch() const {
  return state_->writer.epoch();
}
bool AuditLog::healthy() const {
  return state_->healthy;
}
bool AuditLog::anchored() const {
  return state_->anchored;
}

}  // namespace factionos::audit
