#include "broker/redaction/shape_tracker.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace factionos::redaction {
namespace {

constexpr double kMinEntropy = 3.5;  // bits a byte; English words and paths lie below
constexpr std::uint32_t kMaxEntropyBody = 150;
constexpr std::uint32_t kMaxPort = 5;
constexpr std::uint32_t kPemHeaderTail = 16;
constexpr std::string_view kPemEnd = "-----END";
constexpr std::uint32_t kPemClosing = 5;

const Shape& shapeOf(std::uint16_t id) {
  return shapes()[id];
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::uint32_t pendingLimit(const Shape& shape) {
  return shape.kind == ShapeKind::kEntropy ? kMaxEntropyBody : ShapeTracker::kMaxPending;
}

bool endsIn(std::uint64_t last, std::string_view tail) {
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const char byte = static_cast<char>((last >> (8 * (tail.size() - 1 - i))) & 0xffU);
    if (tail[i] == '9' ? !isDigit(byte) : byte != tail[i]) return false;
  }
  return true;
}

bool hasTail(std::uint64_t last, std::string_view tail) {
  // A data centre's number has one digit or two.
  return endsIn(last, tail) ||
         (tail.ends_with('9') && isDigit(static_cast<char>(last & 0xffU)) && endsIn(last >> 8U, tail));
}

}  // namespace

void ShapeTracker::Verdict::merge(std::uint32_t count, bool self, std::uint16_t by) noexcept {
  if ((trailing == 0 && !current) || count > trailing) shape = by;
  trailing = std::max(trailing, count);
  current = current || self;
}

void ShapeTracker::activate(std::uint16_t shape) noexcept {
  if (shapeOf(shape).kind == ShapeKind::kPem) {
    if (pem_ == Pem::kOutside) {
      pem_ = Pem::kHeaderLine;
      pemShape_ = shape;
      pemCount_ = 0;
      pemMatched_ = 0;
    }
    return;
  }
  if (shapeOf(shape).kind == ShapeKind::kDirectory) {
    atDirectory_ = true;
    return;
  }
  for (std::size_t i = 0; i < size_; ++i) {
    // An earlier body of the same shape covers this one: both end at the same byte.
    if (active_[i].shape == shape) return;
  }
  if (shapeOf(shape).kind == ShapeKind::kEntropy) histogram_.fill(0);
  active_[size_] = Active{};
  active_[size_++].shape = shape;
}

void ShapeTracker::remove(std::size_t at) noexcept {
  active_[at] = active_[--size_];
}

void ShapeTracker::dropUnbegun(ShapeKind kind) noexcept {
  for (std::size_t i = size_; i-- > 0;) {
    if (active_[i].count == 0 && shapeOf(active_[i].shape).kind == kind) remove(i);
  }
}

ShapeTracker::Verdict ShapeTracker::step(char byte) noexcept {
  Verdict verdict;
  if (std::exchange(atDirectory_, false) && byte == '/') dropUnbegun(ShapeKind::kEntropy);
  for (std::size_t i = size_; i-- > 0;) {
    if (stepOne(active_[i], byte, verdict) == Fate::kLeaves) remove(i);
  }
  if (insidePem()) stepPem(byte, verdict);
  return verdict;
}

ShapeTracker::Fate ShapeTracker::stepOne(Active& active, char byte, Verdict& verdict) noexcept {
  const Shape& shape = shapeOf(active.shape);
  if (active.confirmed) {
    if (!contains(shape.wide, byte)) return Fate::kLeaves;
    verdict.merge(0, true, active.shape);
    return Fate::kStays;
  }
  if (contains(shape.narrow, byte)) return grow(active, byte, verdict);
  end(active, byte, verdict);
  return Fate::kLeaves;
}

ShapeTracker::Fate ShapeTracker::grow(Active& active, char byte, Verdict& verdict) noexcept {
  const Shape& shape = shapeOf(active.shape);
  ++active.count;
  active.digit = active.digit || isDigit(byte);
  active.number = active.number && isDigit(byte);
  active.dot = active.dot || byte == '.';
  active.last = active.last << 8U | static_cast<unsigned char>(byte);
  if (shape.kind == ShapeKind::kEntropy) ++histogram_[static_cast<unsigned char>(byte)];

  const bool full = active.count >= pendingLimit(shape);
  bool secret = false;
  switch (shape.kind) {
    case ShapeKind::kRun:
      secret = active.count >= shape.min && (shape.needs != Needs::kDigit || active.digit) &&
               (shape.needs != Needs::kDot || active.dot);
      secret = secret || full;
      break;
    case ShapeKind::kEntropy:
      secret = full && looksRandom(active.count);
      break;
    case ShapeKind::kPassword:
    case ShapeKind::kTail:
    case ShapeKind::kPem:
    case ShapeKind::kDirectory:
      break;
  }
  if (secret) {
    active.confirmed = true;
    verdict.merge(active.count - 1, true, active.shape);
    return Fate::kStays;
  }
  return full ? Fate::kLeaves : Fate::kStays;
}

void ShapeTracker::end(const Active& active, char terminator, Verdict& verdict) const noexcept {
  const Shape& shape = shapeOf(active.shape);
  bool secret = false;
  switch (shape.kind) {
    case ShapeKind::kEntropy:
      secret = active.count >= shape.min && looksRandom(active.count);
      break;
    case ShapeKind::kPassword:
      secret = active.count >= shape.min && terminator == '@';
      break;
    case ShapeKind::kTail:
      secret = active.count >= shape.min && hasTail(active.last, shape.tail);
      break;
    case ShapeKind::kRun:
    case ShapeKind::kPem:
    case ShapeKind::kDirectory:
      break;
  }
  if (secret) verdict.merge(active.count, false, active.shape);
}

bool ShapeTracker::looksRandom(std::uint32_t count) const noexcept {
  double entropy = 0;
  for (const std::uint16_t occurrences : histogram_) {
    if (occurrences == 0) continue;
    const double share = static_cast<double>(occurrences) / count;
    entropy -= share * std::log2(share);
  }
  return entropy >= kMinEntropy;
}

void ShapeTracker::stepPem(char byte, Verdict& verdict) noexcept {
  // A header inside source code is followed by the end of a string or a call, never by key material.
  constexpr std::string_view kNoKey = "\"'`)(;{}$&";
  if (pem_ == Pem::kHeaderLine && kNoKey.find(byte) != std::string_view::npos) {
    pem_ = Pem::kOutside;
    return;
  }
  verdict.merge(0, true, pemShape_);
  ++pemCount_;
  if (pem_ == Pem::kHeaderLine && pemCount_ >= kPemHeaderTail) pem_ = Pem::kBody;
  dashes(byte);
  if (pemCount_ >= kPemLimit || (pem_ == Pem::kEndLine && pemMatched_ == kPemClosing)) {
    pem_ = Pem::kOutside;
  }
}

void ShapeTracker::dashes(char byte) noexcept {
  if (pem_ == Pem::kEndLine) {
    pemMatched_ = byte == '-' ? pemMatched_ + 1 : 0;
    return;
  }
  // The only border of "-----END" with itself is a run of dashes.
  if (byte == kPemEnd[pemMatched_]) {
    ++pemMatched_;
  } else if (byte == '-') {
    pemMatched_ = pemMatched_ == kPemClosing ? kPemClosing : 1;
  } else {
    pemMatched_ = 0;
  }
  if (pemMatched_ == kPemEnd.size()) {
    pem_ = Pem::kEndLine;
    pemMatched_ = 0;
  }
}

ShapeTracker::Verdict ShapeTracker::gap(Gap kind) noexcept {
  Verdict verdict;
  if (kind == Gap::kNarrow) {
    atDirectory_ = false;
    for (std::size_t i = size_; i-- > 0;) {
      const Active& active = active_[i];
      const ShapeKind shapeKind = shapeOf(active.shape).kind;
      // An undecided token may go on below, wherever its line was cut; a prefix alone was only mentioned.
      if (!active.confirmed && shapeKind == ShapeKind::kRun && active.count > 0) continue;
      if (!active.confirmed) end(active, '\n', verdict);
      remove(i);
    }
  }
  if (pem_ == Pem::kHeaderLine) pem_ = Pem::kBody;
  if (pem_ == Pem::kEndLine) pem_ = Pem::kOutside;
  return verdict;
}

void ShapeTracker::continueKey(const ShapeTracker& other) noexcept {
  if (insidePem() || (other.pem_ != Pem::kHeaderLine && other.pem_ != Pem::kBody)) return;
  pem_ = Pem::kBody;
  pemShape_ = other.pemShape_;
  pemCount_ = 0;
  pemMatched_ = 0;
}

ShapeTracker::Verdict ShapeTracker::resolve(std::uint32_t held) noexcept {
  Verdict verdict;
  for (std::size_t i = size_; i-- > 0;) {
    Active& active = active_[i];
    const Shape& shape = shapeOf(active.shape);
    if (active.confirmed || active.count == 0) continue;
    if (shape.kind == ShapeKind::kTail) {
      remove(i);
      continue;
    }
    // What follows a host's colon is its port as long as it is a short number.
    if (shape.kind == ShapeKind::kPassword && active.number && active.count <= kMaxPort) continue;
    if (active.count <= shape.safe) continue;
    const std::uint32_t shown = active.count - std::min(active.count, held);
    active.confirmed = true;
    verdict.merge(active.count - std::max<std::uint32_t>(shown, shape.safe), false, active.shape);
  }
  return verdict;
}

ShapeTracker::Verdict ShapeTracker::finish(Ending ending) noexcept {
  Verdict verdict;
  for (std::size_t i = 0; i < size_; ++i) {
    const Active& active = active_[i];
    if (active.confirmed) continue;
    end(active, '\n', verdict);
    const Shape& shape = shapeOf(active.shape);
    const bool cut = ending == Ending::kCut && shape.kind == ShapeKind::kRun && shape.safe == 0;
    if (cut) verdict.merge(active.count, false, active.shape);
  }
  size_ = 0;
  atDirectory_ = false;
  pem_ = Pem::kOutside;
  return verdict;
}

std::size_t ShapeTracker::plainRun(std::string_view text) const noexcept {
  if (size_ != 1 || atDirectory_ || insidePem() || !active_[0].confirmed) return 0;
  const Alphabet wide = shapeOf(active_[0].shape).wide;
  std::size_t length = 0;
  while (length < text.size() && contains(wide, text[length])) ++length;
  return length;
}

std::uint32_t ShapeTracker::undecided() const noexcept {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!active_[i].confirmed) most = std::max(most, active_[i].count);
  }
  return most;
}

}  // namespace factionos::redaction
