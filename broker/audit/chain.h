#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "broker/audit/line.h"
#include "broker/audit/verify.h"

namespace factionos::audit {

// Follows the log line by line and says where it stops being one chain. Pure: no file, no clock.
class Chain {
 public:
  enum class Start {
    kGenesis,  // from the first line of the log
    kSeal,  // from a seal (or the genesis) that the signed head names: what came before is taken on its word
  };
  explicit Chain(Start start) : start_(start) {}

  // `text` is the next line, `end` the offset just after it. After a breach all further lines give the same
  // breach.
  Breach feed(std::string_view text, std::uint64_t end);
  // Checks the signatures of the last epoch, which no seal covers yet; of what came before the breach, if
  // there is one.
  Breach finish();

  // Sequence number of the line that is wrong, or missing, after a breach.
  std::uint64_t breachAt() const { return breachAt_; }

  // Whether the breach is a line that no writer ever finished: not of the format, or not matching its own
  // hash. Past the head that is what power loss leaves; a finished line that does not fit is not.
  bool illegible() const { return illegible_; }

  // The last line fed.
  const std::optional<ParsedLine>& last() const { return last_; }
  // The last line that a signature covers, and what was true there.
  struct Point {
    std::uint64_t sequence = 0;
    std::uint64_t end = 0;  // offset just after it
    Digest hash;
    Time time{};
  };
  const Point& signedEnd() const { return signedEnd_; }
  std::uint64_t epoch() const { return epoch_; }
  const PublicKey& key() const { return key_; }
  std::uint64_t epochStart() const { return epochStart_; }  // offset of the line that began the epoch
  std::uint64_t epochStartSequence() const { return epochStartSequence_; }

 private:
  struct Pending {
    std::uint64_t sequence;
    Digest contentHash;
    Signature signature;
  };
  Breach fail(Breach breach, std::uint64_t at);
  Breach follow(const ParsedLine& parsed);
  Breach openFirst(const ParsedLine& parsed, std::uint64_t begin);
  Breach takeSeal(const Seal& seal, const ParsedLine& parsed, std::uint64_t begin);
  Breach checkPending();

  Start start_;
  Breach breach_ = Breach::kNone;
  std::uint64_t breachAt_ = 0;
  bool illegible_ = false;
  std::optional<ParsedLine> last_;
  Point signedEnd_;
  std::uint64_t epoch_ = 0;
  PublicKey key_{};
  std::uint64_t epochStart_ = 0;
  std::uint64_t epochStartSequence_ = 0;
  std::vector<Pending> pending_;  // signatures of this epoch not yet checked; a good seal makes that needless
};

}  // namespace factionos::audit
