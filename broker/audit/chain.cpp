#include "broker/audit/chain.h"

#include "broker/audit/epoch_key.h"

namespace factionos::audit {
namespace {

// An honest epoch holds far fewer; beyond it they are checked at once, so that a hostile file can't grow the
// list.
constexpr std::size_t kMaxPending = 16 * 1024;

}  // namespace

Breach Chain::fail(Breach breach, std::uint64_t at) {
  breach_ = breach;
  breachAt_ = at;
  return breach;
}

Breach Chain::follow(const ParsedLine& parsed) {
  const std::uint64_t expected = last_ ? last_->line.sequence + 1 : 1;
  if (!(parsed.storedHash == parsed.contentHash)) {
    illegible_ = true;
    return fail(Breach::kChain, last_ || start_ == Start::kGenesis ? expected : parsed.line.sequence);
  }
  if (start_ == Start::kGenesis || last_) {
    if (parsed.line.sequence != expected) return fail(Breach::kSequence, expected);
    const Digest before = last_ ? last_->lineHash : Digest{};
    if (!(parsed.line.previous == before)) {
      // A changed signature is in no hash of its own line: it shows there, and at the line after.
      const Breach inside = checkPending();
      return inside != Breach::kNone ? inside : fail(Breach::kChain, expected);
    }
  }
  return Breach::kNone;
}

Breach Chain::openFirst(const ParsedLine& parsed, std::uint64_t begin) {
  const auto* genesis = std::get_if<Genesis>(&parsed.line.body);
  const auto* seal = std::get_if<Seal>(&parsed.line.body);
  if (genesis != nullptr) {
    epoch_ = 1;
    key_ = genesis->key;
    if (!parsed.line.signature ||
        !verifySignature(key_, signedText(parsed.contentHash), *parsed.line.signature)) {
      return fail(Breach::kSignature, parsed.line.sequence);
    }
  } else if (seal != nullptr && start_ == Start::kSeal) {
    epoch_ = seal->epoch;
    key_ = seal->key;
  } else {
    return fail(Breach::kMalformed, parsed.line.sequence);
  }
  epochStart_ = begin;
  epochStartSequence_ = parsed.line.sequence;
  return Breach::kNone;
}

Breach Chain::takeSeal(const Seal& seal, const ParsedLine& parsed, std::uint64_t begin) {
  const std::uint64_t sequence = parsed.line.sequence;
  if (seal.epoch != epoch_ + 1) return fail(Breach::kSequence, sequence);
  if (signedEnd_.sequence != sequence - 1) return fail(Breach::kUnsigned, signedEnd_.sequence + 1);
  if (!parsed.line.signature ||
      !verifySignature(key_, signedText(parsed.contentHash), *parsed.line.signature)) {
    // The first signature of the epoch that is wrong names the place better than the seal.
    const Breach inside = checkPending();
    return inside != Breach::kNone ? inside : fail(Breach::kSignature, sequence);
  }
  pending_.clear();
  epoch_ = seal.epoch;
  key_ = seal.key;
  epochStart_ = begin;
  epochStartSequence_ = sequence;
  return Breach::kNone;
}

Breach Chain::checkPending() {
  for (const Pending& each : pending_) {
    if (!verifySignature(key_, signedText(each.contentHash), each.signature)) {
      return fail(Breach::kSignature, each.sequence);
    }
  }
  pending_.clear();
  return Breach::kNone;
}

Breach Chain::feed(std::string_view text, std::uint64_t end) {
  if (breach_ != Breach::kNone) return breach_;
  const std::uint64_t begin = end - text.size() - 1;
  std::optional<ParsedLine> parsed = parseLine(text);
  if (!parsed) {
    illegible_ = true;
    return fail(Breach::kMalformed, last_ ? last_->line.sequence + 1 : 1);
  }
  if (const Breach found = follow(*parsed); found != Breach::kNone) return found;
  const Line& line = parsed->line;
  const auto* seal = std::get_if<Seal>(&line.body);
  Breach found = Breach::kNone;
  if (!last_) {
    found = openFirst(*parsed, begin);
  } else if (std::holds_alternative<Genesis>(line.body)) {
    found = fail(Breach::kMalformed, line.sequence);
  } else if (seal != nullptr) {
    found = takeSeal(*seal, *parsed, begin);
  } else if (line.signature) {
    pending_.push_back(Pending{line.sequence, parsed->contentHash, *line.signature});
    if (pending_.size() > kMaxPending) found = checkPending();
  }
  if (found != Breach::kNone) return found;
  if (line.signature) signedEnd_ = Point{line.sequence, end, parsed->lineHash, line.time};
  last_ = std::move(parsed);
  return Breach::kNone;
}

Breach Chain::finish() {
  return breach_ != Breach::kNone ? breach_ : checkPending();
}

}  // namespace factionos::audit
