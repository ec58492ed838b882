#include "broker/redaction/masker.h"

#include <algorithm>
#include <string>
#include <utility>

#include <sodium.h>

#include "broker/redaction/blind_spot.h"
#include "broker/redaction/escape_lexer.h"
#include "broker/redaction/hold_queue.h"
#include "broker/redaction/lane_matcher.h"
#include "broker/redaction/masked_writer.h"
#include "broker/redaction/projections.h"
#include "broker/redaction/shapes.h"

namespace factionos::redaction {
namespace {

using Entry = HoldQueue::Entry;
using Scanned = LaneMatcher::Scanned;
using Projection = PrefixScanner::Projection;

static_assert(Masker::kSafeKnownBytes == LaneMatcher::kSafeKnownBytes);

std::string_view labelOf(std::uint16_t shape) {
  return shape == LaneMatcher::kKnownValue ? "secret" : shapes()[shape].label;
}

std::shared_ptr<const LiteralAutomaton> checked(std::shared_ptr<const LiteralAutomaton> secrets,
                                                const MaskerLimits& limits) {
  if (secrets == nullptr || limits.holdBytes < 64) throw MaskerFault("a masker needs secrets and room");
  return secrets;
}

}  // namespace

class Masker::Engine {
 public:
  Engine(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets, MaskerLimits limits)
      : limits_(limits),
        secrets_(checked(std::move(secrets), limits)),
        scanner_(patterns.open()),
        queue_(limits.holdBytes),
        text_(Lane::kText, *secrets_, queue_, PrefixScanner::kMaxEvents * 2),
        sequence_(Lane::kSequence, *secrets_, queue_, PrefixScanner::kMaxEvents),
        blind_(secrets_->longest()) {}
  ~Engine() { sodium_memzero(block_.bytes.data(), block_.bytes.size()); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void feed(std::string_view raw, Time now, MaskedSink& sink);
  void gap(std::uint64_t bytes, MaskedSink& sink);
  void tick(Time now, MaskedSink& sink);
  void finish(MaskedSink& sink);
  [[nodiscard]] std::optional<Time> deadline() const noexcept;

  // Runs a step and withholds whatever goes wrong in it.
  template <typename Step>
  void guarded(std::size_t rawBytes, MaskedSink& sink, Step step) noexcept;
  void reportWithheld(MaskedSink& sink) noexcept;

  EscapeLexer lexer;
  MaskedWriter writer;
  bool withholding = false;
  std::uint64_t withheldBytes = 0;
  std::uint64_t rawBytes = 0;
  std::uint64_t afterGapBytes = 0;

 private:
  void processBlock(MaskedSink& sink);
  void scanBlock();
  [[nodiscard]] bool quiet() const noexcept { return queue_.empty() && text_.quiet() && sequence_.quiet(); }
  [[nodiscard]] std::size_t quietRun(std::size_t from, MaskedSink& sink);
  [[nodiscard]] std::size_t maskedRun(std::size_t from, MaskedSink& sink);
  void stepByte(std::size_t at, MaskedSink& sink);
  void stepText(std::size_t at);
  void stepSequence(char byte);
  void stepGap(char byte, ShapeTracker::Gap gap);
  void push(Entry entry);
  void withhold(std::size_t bytes) noexcept;
  void seeAgain(MaskedSink& sink);

  void release(MaskedSink& sink);
  void resolveAll(MaskedSink& sink);
  void emit(const Entry& entry, MaskedSink& sink);

  MaskerLimits limits_;
  std::shared_ptr<const LiteralAutomaton> secrets_;
  std::unique_ptr<PrefixScanner> scanner_;
  HoldQueue queue_;
  LaneMatcher text_;
  LaneMatcher sequence_;
  BlindSpot blind_;
  std::uint64_t unseen_ = 0;    // bytes withheld around the gap, not told yet
  bool textWasMasked_ = false;  // the last byte that went out of the lane
  bool sequenceWasMasked_ = false;
  LexedBlock block_;
  Projections projections_;
  Time now_{};
  Time epoch_{};  // of HoldQueue::Entry::since; set whenever the queue is empty
  Time spaceSince_{};
};

// --- Input ---

void Masker::Engine::feed(std::string_view raw, Time now, MaskedSink& sink) {
  if (raw.empty()) return;
  now_ = now;
  while (!raw.empty()) {
    const std::size_t size = std::min(raw.size(), LexedBlock::kRawBytes);
    lexer.lex(raw.substr(0, size), block_);
    processBlock(sink);
    raw.remove_prefix(size);
  }
  if (lexer.holdsSpace()) spaceSince_ = now;
  writer.flush(sink);
}

void Masker::Engine::processBlock(MaskedSink& sink) {
  projections_.build(block_);
  scanBlock();
  for (std::size_t i = 0; i < block_.size;) {
    if (blind_.isOpen()) {
      stepByte(i++, sink);  // none is passed over: each may be the last that is withheld
      continue;
    }
    if (quiet()) {
      i = quietRun(i, sink);
    } else if (textWasMasked_ && queue_.empty() && sequence_.quiet()) {
      i = maskedRun(i, sink);
    }
    if (i < block_.size) stepByte(i++, sink);
  }
}

void Masker::Engine::scanBlock() {
  text_.startBlock();
  sequence_.startBlock();
  if (const std::string_view lines = projections_.lines(); !lines.empty()) {
    for (const PrefixEvent& event : scanner_->scan(Projection::kLines, lines)) {
      text_.addEvent({projections_.textAt(event.end), event.shape});
    }
  }
  if (const std::string_view joined = projections_.joined(); !joined.empty()) {
    for (const PrefixEvent& event : scanner_->scan(Projection::kJoined, joined)) text_.addEvent(event);
  }
  if (const std::string_view sequences = projections_.sequences(); !sequences.empty()) {
    for (const PrefixEvent& event : scanner_->scan(Projection::kSequences, sequences))
      sequence_.addEvent(event);
  }
  text_.sortEvents();
}

// Nothing is open: bytes that open nothing go straight out.
std::size_t Masker::Engine::quietRun(std::size_t from, MaskedSink& sink) {
  const std::string_view joined = projections_.joined().substr(text_.position());
  const std::string_view sequences = projections_.sequences().substr(sequence_.position());
  const std::uint32_t textLimit = text_.nextEventAt() - text_.position() - 1;
  const std::uint32_t sequenceLimit = sequence_.nextEventAt() - sequence_.position() - 1;
  std::uint32_t text = 0;
  std::uint32_t sequence = 0;
  std::size_t i = from;
  for (; i < block_.size; ++i) {
    const ByteClass byteClass = block_.classes[i];
    if (byteClass == ByteClass::kText) {
      const std::uint32_t runOn = projections_.runsOn(i) ? 1 : 0;
      if (text >= textLimit || sequence + runOn > sequenceLimit || secrets_->mayBegin(joined.substr(text)))
        break;
      ++text;
      sequence += runOn;
    } else if (byteClass == ByteClass::kSequence) {
      if (sequence >= sequenceLimit || secrets_->mayBegin(sequences.substr(sequence))) break;
      ++sequence;
      sequenceWasMasked_ = false;
    } else if (byteClass == ByteClass::kSequenceStart) {
      ++sequence;
    } else if (byteClass == ByteClass::kGapNarrow || byteClass == ByteClass::kGapWide) {
      textWasMasked_ = false;
    }
  }
  textWasMasked_ = textWasMasked_ && text == 0;
  text_.skip(text);
  sequence_.skip(sequence);
  writer.pass({block_.bytes.data() + from, i - from}, sink);
  return i;
}

// Inside a secret, whose marker is written: bytes that are more of it are dropped.
std::size_t Masker::Engine::maskedRun(std::size_t from, MaskedSink& sink) {
  std::size_t end = from;
  while (end < block_.size && block_.classes[end] == ByteClass::kText && !projections_.runsOn(end)) ++end;
  const std::size_t length = text_.maskedRun({block_.bytes.data() + from, end - from});
  text_.skip(static_cast<std::uint32_t>(length));
  writer.drop(length, sink);
  return from + length;
}

void Masker::Engine::stepByte(std::size_t at, MaskedSink& sink) {
  // Before the byte is judged: what is decided here must not overtake it.
  if (queue_.full()) resolveAll(sink);
  const char byte = block_.bytes[at];
  switch (block_.classes[at]) {
    case ByteClass::kText:
      stepText(at);
      break;
    case ByteClass::kSequence:
      stepSequence(byte);
      break;
    case ByteClass::kSequenceStart:
      sequence_.restart();
      sequence_.skipBorder();
      push({.byte = byte, .kind = Entry::Kind::kPass});
      break;
    case ByteClass::kGapNarrow:
      stepGap(byte, ShapeTracker::Gap::kNarrow);
      break;
    case ByteClass::kGapWide:
      stepGap(byte, ShapeTracker::Gap::kWide);
      break;
    case ByteClass::kSequenceEnd:
      sequence_.restart();
      [[fallthrough]];
    case ByteClass::kPass:
      push({.byte = byte, .kind = Entry::Kind::kPass});
      break;
  }
  release(sink);
  if (!blind_.isOpen()) return;
  withhold(1);
  if (!blind_.step(byte, block_.classes[at])) seeAgain(sink);
}

void Masker::Engine::stepText(std::size_t at) {
  const char byte = block_.bytes[at];
  // Text right behind a sequence, or behind one in which something is still open, is also its end.
  const bool runsOn = projections_.runsOn(at);
  const bool inSequence = runsOn || !sequence_.quiet();
  const std::string_view next = projections_.joined().substr(text_.position() + 1);
  const ShapeTracker::Verdict text = text_.before(byte);
  const ShapeTracker::Verdict sequence = inSequence ? sequence_.before(byte) : ShapeTracker::Verdict{};
  push({.byte = byte, .kind = Entry::Kind::kLanes, .inText = true, .inSequence = inSequence});
  text_.after(byte, text, Scanned::kYes, next);
  if (inSequence) sequence_.after(byte, sequence, runsOn ? Scanned::kYes : Scanned::kNo, next);
}

void Masker::Engine::stepSequence(char byte) {
  const std::string_view next = projections_.sequences().substr(sequence_.position() + 1);
  const ShapeTracker::Verdict verdict = sequence_.before(byte);
  push({.byte = byte, .kind = Entry::Kind::kLanes, .inSequence = true});
  sequence_.after(byte, verdict, Scanned::kYes, next);
}

void Masker::Engine::stepGap(char byte, ShapeTracker::Gap gap) {
  text_.gap(gap);
  text_.continueKey(sequence_);  // an introducer that nothing ended took the header with it
  sequence_.restart();
  push({.byte = byte, .kind = text_.insidePem() ? Entry::Kind::kDropped : Entry::Kind::kGap});
}

// --- Holding and output ---

void Masker::Engine::push(Entry entry) {
  if (queue_.empty()) epoch_ = now_;
  if (now_ > epoch_) {
    entry.since = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now_ - epoch_).count());
  }
  queue_.push(entry);
}

void Masker::Engine::release(MaskedSink& sink) {
  if (queue_.empty()) return;
  const std::uint32_t text = text_.undecided();
  const std::uint32_t sequence = sequence_.undecided();
  while (!queue_.empty()) {
    const Entry& entry = queue_.front();
    const bool open = (entry.inText && queue_.count(Lane::kText) <= text) ||
                      (entry.inSequence && queue_.count(Lane::kSequence) <= sequence);
    if (open && !entry.masked) return;
    emit(entry, sink);
    queue_.pop();
  }
}

void Masker::Engine::resolveAll(MaskedSink& sink) {
  text_.resolve();
  sequence_.resolve();
  for (; !queue_.empty(); queue_.pop()) emit(queue_.front(), sink);
}

void Masker::Engine::emit(const Entry& entry, MaskedSink& sink) {
  if (entry.kind == Entry::Kind::kGap) textWasMasked_ = false;
  if (entry.kind == Entry::Kind::kLanes) {
    const bool before = std::exchange(entry.inText ? textWasMasked_ : sequenceWasMasked_, entry.masked);
    if (entry.masked) {
      if (!before) writer.beginSecret(labelOf(entry.shape));
      return writer.drop(1, sink);
    }
  }
  if (entry.kind == Entry::Kind::kDropped) return writer.skip(1);
  writer.pass({&entry.byte, 1}, sink);
}

// --- Gaps ---

void Masker::Engine::gap(std::uint64_t bytes, MaskedSink& sink) {
  if (blind_.isOpen()) {
    if (bytes != 0) seeAgain(sink);
  } else {
    withhold(queue_.size());
  }
  withhold(lexer.restart());
  queue_.clear();
  text_.restart();
  sequence_.restart();
  if (bytes != 0) writer.write("[dropped:" + std::to_string(bytes) + "]", sink);
  writer.flush(sink);
  blind_.open();
  writer.mute(true);
}

void Masker::Engine::withhold(std::size_t bytes) noexcept {
  unseen_ += bytes;
  afterGapBytes += bytes;
}

void Masker::Engine::seeAgain(MaskedSink& sink) {
  blind_.close();
  writer.mute(false);
  // What is kept back is a part of what was withheld. A secret that goes on has no marker yet.
  queue_.clear();
  textWasMasked_ = false;
  sequenceWasMasked_ = false;
  const std::uint64_t bytes = std::exchange(unseen_, 0);
  if (bytes != 0) writer.write("[withheld:after_gap bytes=" + std::to_string(bytes) + "]", sink);
}

// --- Time, end and failure ---

std::optional<Masker::Time> Masker::Engine::deadline() const noexcept {
  std::optional<Time> at;
  if (!queue_.empty()) at = epoch_ + std::chrono::milliseconds(queue_.front().since) + limits_.holdTime;
  if (lexer.holdsSpace()) at = std::min(at.value_or(Time::max()), spaceSince_ + limits_.holdTime);
  return at;
}

void Masker::Engine::tick(Time now, MaskedSink& sink) {
  const std::optional<Time> at = deadline();
  if (!at || now < *at) return;
  now_ = now;
  lexer.flush(block_);
  processBlock(sink);
  resolveAll(sink);
  writer.flush(sink);
}

void Masker::Engine::finish(MaskedSink& sink) {
  lexer.finish(block_);
  processBlock(sink);
  text_.finish();
  sequence_.finish();
  for (; !queue_.empty(); queue_.pop()) emit(queue_.front(), sink);
  if (blind_.isOpen()) seeAgain(sink);
  writer.flush(sink);
}

template <typename Step>
void Masker::Engine::guarded(std::size_t size, MaskedSink& sink, Step step) noexcept {
  rawBytes += size;
  if (!withholding) {
    try {
      step();
      return;
    } catch (...) {  // whatever it was, its text might quote the stream
    }
    withholding = true;
    queue_.clear();
    writer.discard();
    reportWithheld(sink);
  }
  withheldBytes += size;
}

void Masker::Engine::reportWithheld(MaskedSink& sink) noexcept {
  try {
    const std::string count = withheldBytes == 0 ? "" : " bytes=" + std::to_string(withheldBytes);
    sink.onMasked(MaskedBytes("[withheld:masker_fault" + count + "]"));
  } catch (...) {  // a sink that can't take this takes nothing at all, which is what withholding means
  }
}

Masker::Masker(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets,
               MaskerLimits limits)
    : engine_(std::make_unique<Engine>(patterns, std::move(secrets), limits)) {}
Masker::~Masker() = default;
Masker::Masker(Masker&&) noexcept = default;
Masker& Masker::operator=(Masker&&) noexcept = default;

void Masker::show(std::uint64_t from, std::uint64_t to) noexcept {
  engine_->writer.show(from, to);
}

void Masker::setColumns(unsigned columns) noexcept {
  engine_->lexer.setColumns(columns);
}

void Masker::feed(std::span<const std::byte> raw, Time now, MaskedSink& sink) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
  engine_->guarded(raw.size(), sink, [&] { engine_->feed(text, now, sink); });
}

std::optional<Masker::Time> Masker::deadline() const noexcept {
  return engine_->withholding ? std::nullopt : engine_->deadline();
}

void Masker::gap(std::uint64_t bytes, MaskedSink& sink) noexcept {
  engine_->guarded(0, sink, [&] { engine_->gap(bytes, sink); });
}

void Masker::tick(Time now, MaskedSink& sink) noexcept {
  engine_->guarded(0, sink, [&] { engine_->tick(now, sink); });
}

void Masker::finish(MaskedSink& sink) noexcept {
  engine_->guarded(0, sink, [&] { engine_->finish(sink); });
  if (engine_->withheldBytes > 0) engine_->reportWithheld(sink);
}

bool Masker::withholding() const noexcept {
  return engine_->withholding;
}
std::uint64_t Masker::withheldBytes() const noexcept {
  return engine_->withheldBytes;
}
std::uint64_t Masker::afterGapBytes() const noexcept {
  return engine_->afterGapBytes;
}
std::uint64_t Masker::rawBytes() const noexcept {
  return engine_->rawBytes;
}
std::uint64_t Masker::maskedCount() const noexcept {
  return engine_->writer.markers();
}

}  // namespace factionos::redaction
