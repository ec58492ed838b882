#include "broker/audit/verify.h"

#include <algorithm>
#include <exception>
#include <vector>

#include <sodium.h>

#include "broker/audit/scan.h"

namespace factionos::audit {
namespace {

// A writer may be at work. What it can make look wrong is gone at the next reading.
constexpr int kAttempts = 8;

Verdict broken(Verdict verdict, Breach breach, std::uint64_t sequence) {
  verdict.breach = breach;
  verdict.sequence = sequence;
  return verdict;
}

class Reading {
 public:
  Reading(const AuditPaths& paths, const Expectation& expected) : paths_(paths), expected_(expected) {}

  Verdict run() {
    Verdict verdict;
    FileDescriptor log;
    try {
      log = openOwn(paths_.log(), OpenFor::kRead, "audit log");
    } catch (const FileError& error) {
      return broken(verdict, error.fault() == FileFault::kMissing ? Breach::kNoLog : Breach::kUnreadable, 1);
    }
    // The head first: whatever it says is in the log by then. It is read again after the log.
    before_ = heads();
    readKeys();
    size_ = sizeOf(log, "audit log");
    if (size_ == 0) return broken(verdict, Breach::kNoLog, 1);
    const Head head = before_.newest.value_or(Head{});
    const Scan scan = scanLog(log, Chain::Start::kGenesis, 0, size_, head, [&](const ParsedLine& line) {
      count(verdict, line);
      compare(line);
      followKeys(line);
    });
    verdict.tornBytes = scan.tornBytes;
    if (firstKeyWrong_) return broken(verdict, Breach::kWrongFirstKey, 1);
    if (scan.breach != Breach::kNone) return broken(verdict, scan.breach, scan.breachAt);
    if (!before_.newest) return broken(verdict, Breach::kHeadDamaged, scan.chain.signedEnd().sequence);
    return judgeEnd(verdict, scan);
  }

  // What a writer would have changed between two readings.
  std::uint64_t size() const { return size_; }
  std::uint64_t counter() const { return before_.newest ? before_.newest->counter : 0; }

 private:
  HeadPair heads() const {
    try {
      return readHeads(paths_.head());
    } catch (const FileError&) {
      return {};
    }
  }

  static void count(Verdict& verdict, const ParsedLine& line) {
    verdict.records += std::holds_alternative<Record>(line.line.body) ? 1U : 0U;
    verdict.gaps += std::holds_alternative<Gap>(line.line.body) ? 1U : 0U;
    verdict.voided += std::holds_alternative<Void>(line.line.body) ? 1U : 0U;
  }

  void compare(const ParsedLine& line) {
    if (const auto* genesis = std::get_if<Genesis>(&line.line.body);
        genesis != nullptr && expected_.firstPublicKey) {
      firstKeyWrong_ = toHex(genesis->key) != *expected_.firstPublicKey;
    }
    if (line.line.sequence == expected_.atLeast && expected_.hashAtLeast) {
      anchorWrong_ = !(line.lineHash == *expected_.hashAtLeast);
    }
  }

  Verdict judgeEnd(Verdict verdict, const Scan& scan) {
    const std::uint64_t end = scan.chain.signedEnd().sequence;
    verdict.sequence = end;
    if (anchorWrong_) return broken(verdict, Breach::kTruncated, expected_.atLeast);
    if (end < expected_.atLeast) return broken(verdict, Breach::kTruncated, end + 1);
    const HeadPair after = heads();
    if (!after.newest) return broken(verdict, Breach::kHeadDamaged, end);
    std::size_t ahead = 0;
    for (const std::uint64_t last : scan.signedPastHead) ahead += last > after.newest->sequence ? 1U : 0U;
    verdict.headBehind = ahead > 0;
    if (ahead > 1) return broken(verdict, Breach::kHeadBehind, after.newest->sequence + 1);
    // Only power loss during its write damages a slot, and then its batch is in the log and not in the head.
    if (after.damaged && ahead == 0) return broken(verdict, Breach::kHeadDamaged, end);
    return judgeKey(verdict, end);
  }

  // The secrets lie there before the log's size is known: each belongs to an epoch that the log has by then,
  // at or after the head that was read before. A writer may have gone on to others since.
  void readKeys() {
    for (const auto& file : {paths_.key(), paths_.nextKey()}) {
      if (const auto key = EpochKey::load(file)) onDisk_.push_back(key->publicKey());
    }
  }

  void followKeys(const ParsedLine& line) {
    const bool atHead = before_.newest && line.line.sequence >= before_.newest->sequence;
    if (atHead && inForce_.empty() && current_) inForce_.push_back(*current_);
    if (const auto* genesis = std::get_if<Genesis>(&line.line.body)) current_ = genesis->key;
    if (const auto* seal = std::get_if<Seal>(&line.line.body)) current_ = seal->key;
    if (atHead && current_ && (inForce_.empty() || inForce_.back() != *current_))
      inForce_.push_back(*current_);
  }

  Verdict judgeKey(Verdict verdict, std::uint64_t end) const {
    for (const PublicKey& key : onDisk_) {
      if (std::ranges::find(inForce_, key) != inForce_.end()) return verdict;
    }
    return broken(verdict, Breach::kWrongEpochKey, end);
  }

  const AuditPaths& paths_;
  const Expectation& expected_;
  HeadPair before_;
  std::uint64_t size_ = 0;
  std::vector<PublicKey> onDisk_;
  std::optional<PublicKey> current_;  // in force after the line that was seen last
  std::vector<PublicKey> inForce_;    // at the head, and after it
  bool firstKeyWrong_ = false;
  bool anchorWrong_ = false;
};

}  // namespace

std::string_view nameOf(Breach breach) {
  switch (breach) {
    case Breach::kNone:
      return "intact";
    case Breach::kNoLog:
      return "no_log";
    case Breach::kUnreadable:
      return "unreadable";
    case Breach::kMalformed:
      return "malformed";
    case Breach::kSequence:
      return "sequence";
    case Breach::kChain:
      return "chain";
    case Breach::kSignature:
      return "signature";
    case Breach::kUnsigned:
      return "unsigned";
    case Breach::kWrongFirstKey:
      return "wrong_first_key";
    case Breach::kWrongEpochKey:
      return "wrong_epoch_key";
    case Breach::kTruncated:
      return "truncated";
    case Breach::kHeadBehind:
      return "head_behind";
    case Breach::kHeadDamaged:
      return "head_damaged";
  }
  return "unknown";
}

Verdict verify(const AuditPaths& paths, const Expectation& expected) {
  Verdict verdict;
  std::uint64_t size = UINT64_MAX;
  std::uint64_t counter = UINT64_MAX;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Reading reading(paths, expected);
    try {
      if (sodium_init() < 0) return broken({}, Breach::kUnreadable, 0);
      verdict = reading.run();
    } catch (const std::exception&) {
      verdict = broken({}, Breach::kUnreadable, 0);
    }
    const bool still = reading.size() == size && reading.counter() == counter;
    if (verdict.intact() || still) return verdict;
    size = reading.size();
    counter = reading.counter();
  }
  return verdict;
}

}  // namespace factionos::audit
