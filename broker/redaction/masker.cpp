#include "broker/redaction/masker.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sodium.h>

#include "broker/redaction/escape_lexer.h"
#include "broker/redaction/hold_queue.h"
#include "broker/redaction/shape_tracker.h"
#include "broker/redaction/shapes.h"

namespace factionos::redaction {
namespace {

using Entry = HoldQueue::Entry;
using Projection = PrefixScanner::Projection;

constexpr std::uint16_t kKnownValue = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

std::string_view labelOf(std::uint16_t shape) {
  return shape == kKnownValue ? "secret" : shapes()[shape].label;
}

// The state of matching on one lane: the text that a reader sees, or what escape sequences hold.
struct Channel {
  explicit Channel(Lane where) : lane(where) {}

  Lane lane;
  ShapeTracker tracker;
  LiteralAutomaton::State literal = LiteralAutomaton::kRoot;
  std::uint64_t seen = 0;                      // bytes of this lane so far
  std::optional<std::uint64_t> committedFrom;  // a partial known value that is masked as it comes
  bool lastWasMasked = false;

  // Of the block at hand: prefixes that end in it, by rising position, and the position reached.
  std::vector<PrefixEvent> events;
  std::size_t nextEvent = 0;
  std::uint32_t position = 0;

  [[nodiscard]] bool quiet() const noexcept { return literal == LiteralAutomaton::kRoot && tracker.idle(); }
  [[nodiscard]] std::uint32_t eventAt() const noexcept {
    return nextEvent == events.size() ? kNever : events[nextEvent].end;
  }
  void startBlock() {
    events.clear();
    nextEvent = 0;
    position = 0;
  }
};

// What of a block the scanner sees.
class Projections {
 public:
  void build(const LexedBlock& block) noexcept;

  [[nodiscard]] std::string_view lines() const noexcept { return {lines_.data(), linesSize_}; }
  [[nodiscard]] std::string_view joined() const noexcept { return {joined_.data(), joinedSize_}; }
  [[nodiscard]] std::string_view sequences() const noexcept { return {sequences_.data(), sequencesSize_}; }
  // Text bytes among the first `end` bytes of lines().
  [[nodiscard]] std::uint32_t textAt(std::uint32_t end) const noexcept { return textAtLine_[end]; }
  // Whether the block's byte is text and stands in sequences() too.
  [[nodiscard]] bool runsOn(std::size_t at) const noexcept { return runsOn_[at]; }

 private:
  // A broken sequence swallows the first bytes of what follows; so the text after one is read as its end,
  // too, for longer than any fixed prefix.
  static constexpr unsigned kRunOn = 40;
  using Buffer = std::array<char, LexedBlock::kRawBytes + 2>;

  void line(char byte) noexcept {
    lines_[linesSize_++] = byte;
    textAtLine_[linesSize_] = static_cast<std::uint32_t>(joinedSize_);
  }

  Buffer lines_;
  Buffer joined_;
  Buffer sequences_;
  std::array<std::uint32_t, LexedBlock::kRawBytes + 3> textAtLine_;
  std::array<bool, LexedBlock::kRawBytes + 2> runsOn_;
  std::size_t linesSize_ = 0;
  std::size_t joinedSize_ = 0;
  std::size_t sequencesSize_ = 0;
  unsigned runOnLeft_ = 0;
};

void Projections::build(const LexedBlock& block) noexcept {
  linesSize_ = joinedSize_ = sequencesSize_ = 0;
  textAtLine_[0] = 0;
  for (std::size_t i = 0; i < block.size; ++i) {
    const char byte = block.bytes[i];
    runsOn_[i] = false;
    switch (block.classes[i]) {
      case ByteClass::kText:
        joined_[joinedSize_++] = byte;
        line(byte);
        if (runOnLeft_ == 0) break;
        --runOnLeft_;
        runsOn_[i] = true;
        sequences_[sequencesSize_++] = byte;
        break;
      case ByteClass::kGapNarrow:
      case ByteClass::kGapWide:
        line('\n');
        runOnLeft_ = 0;
        break;
      case ByteClass::kSequenceStart:
        sequences_[sequencesSize_++] = '\n';
        runOnLeft_ = kRunOn;
        break;
      case ByteClass::kSequence:
        sequences_[sequencesSize_++] = byte;
        break;
      case ByteClass::kSequenceEnd:
        runOnLeft_ = 0;
        break;
      case ByteClass::kPass:
        break;
    }
  }
}

}  // namespace

class Masker::Engine {
 public:
  Engine(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets, MaskerLimits limits)
      : limits_(limits), secrets_(std::move(secrets)), scanner_(patterns.open()), queue_(limits.holdBytes) {
    if (secrets_ == nullptr || limits.holdBytes < 64) throw MaskerFault("a masker needs secrets and room");
    main_.events.reserve(LexedBlock::kRawBytes * 4);
    sequence_.events.reserve(LexedBlock::kRawBytes * 2);
  }
  ~Engine() {
    sodium_memzero(&block_, sizeof(block_));
    sodium_memzero(static_cast<void*>(&projections_), sizeof(projections_));
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void feed(std::string_view raw, Time now, MaskedSink& sink);
  void tick(Time now, MaskedSink& sink);
  void finish(MaskedSink& sink);
  [[nodiscard]] std::optional<Time> deadline() const noexcept;

  // Runs a step and withholds whatever goes wrong in it.
  template <typename Step>
  void guarded(std::size_t rawBytes, MaskedSink& sink, Step step) noexcept;
  void reportWithheld(MaskedSink& sink) noexcept;

  EscapeLexer lexer;
  bool withholding = false;
  std::uint64_t withheldBytes = 0;
  std::uint64_t rawBytes = 0;
  std::uint64_t markers = 0;

 private:
  void processBlock(MaskedSink& sink);
  void scanBlock();
  void addEvents(Channel& channel, std::span<const PrefixEvent> events);
  [[nodiscard]] bool quiet() const noexcept { return queue_.empty() && main_.quiet() && sequence_.quiet(); }
  [[nodiscard]] std::size_t quietRun(std::size_t from, MaskedSink& sink);
  void stepByte(std::size_t at, MaskedSink& sink);
  void stepLanes(std::size_t at, bool inText, bool inSequence);
  void advance(Channel& channel, char byte);
  void fireEvents(Channel& channel);
  void endSequence();
  void stepGap(char byte, ShapeTracker::Gap gap);
  void mask(const Channel& channel, const ShapeTracker::Verdict& verdict);
  void push(Entry entry);

  [[nodiscard]] std::uint32_t undecided(const Channel& channel) const noexcept;
  void release(MaskedSink& sink);
  void resolve(Channel& channel);
  void resolveAll(MaskedSink& sink);
  void emit(const Entry& entry, MaskedSink& sink);
  void write(std::string_view bytes, MaskedSink& sink);
  void flush(MaskedSink& sink);

  MaskerLimits limits_;
  std::shared_ptr<const LiteralAutomaton> secrets_;
  std::unique_ptr<PrefixScanner> scanner_;
  HoldQueue queue_;
  Channel main_{Lane::kText};
  Channel sequence_{Lane::kSequence};
  LexedBlock block_;
  Projections projections_;
  Time now_{};
  Time epoch_{};  // of HoldQueue::Entry::since; set whenever the queue is empty
  Time spaceSince_{};
  std::array<char, 4096> out_;
  std::size_t outSize_ = 0;
};

// --- Input ---

void Masker::Engine::feed(std::string_view raw, Time now, MaskedSink& sink) {
  now_ = now;
  while (!raw.empty()) {
    const std::size_t size = std::min(raw.size(), LexedBlock::kRawBytes);
    lexer.lex(raw.substr(0, size), block_);
    processBlock(sink);
    raw.remove_prefix(size);
  }
  if (lexer.holdsSpace()) spaceSince_ = now;
  flush(sink);
}

void Masker::Engine::processBlock(MaskedSink& sink) {
  projections_.build(block_);
  scanBlock();
  for (std::size_t i = 0; i < block_.size;) {
    if (quiet()) i = quietRun(i, sink);
    if (i < block_.size) stepByte(i++, sink);
  }
}

void Masker::Engine::scanBlock() {
  main_.startBlock();
  sequence_.startBlock();
  if (const std::string_view lines = projections_.lines(); !lines.empty()) {
    for (const PrefixEvent& event : scanner_->scan(Projection::kLines, lines)) {
      main_.events.push_back({projections_.textAt(event.end), event.shape});
    }
  }
  if (const std::string_view joined = projections_.joined(); !joined.empty()) {
    addEvents(main_, scanner_->scan(Projection::kJoined, joined));
  }
  if (const std::string_view sequences = projections_.sequences(); !sequences.empty()) {
    addEvents(sequence_, scanner_->scan(Projection::kSequences, sequences));
  }
  std::sort(main_.events.begin(), main_.events.end());
}

void Masker::Engine::addEvents(Channel& channel, std::span<const PrefixEvent> events) {
  channel.events.insert(channel.events.end(), events.begin(), events.end());
}

// Nothing is open: bytes that open nothing go straight out.
std::size_t Masker::Engine::quietRun(std::size_t from, MaskedSink& sink) {
  const std::uint32_t mainEvent = main_.eventAt();
  const std::uint32_t sequenceEvent = sequence_.eventAt();
  std::uint32_t text = main_.position;
  std::uint32_t sequence = sequence_.position;
  std::size_t i = from;
  for (; i < block_.size; ++i) {
    const ByteClass byteClass = block_.classes[i];
    if (byteClass == ByteClass::kText) {
      const std::uint32_t runOn = projections_.runsOn(i) ? 1 : 0;
      if (text + 1 >= mainEvent || sequence + runOn >= sequenceEvent || secrets_->leavesRoot(block_.bytes[i]))
        break;
      ++text;
      sequence += runOn;
      main_.lastWasMasked = false;
    } else if (byteClass == ByteClass::kSequence) {
      if (sequence + 1 >= sequenceEvent || secrets_->leavesRoot(block_.bytes[i])) break;
      ++sequence;
      sequence_.lastWasMasked = false;
    } else if (byteClass == ByteClass::kSequenceStart) {
      ++sequence;
    } else if (byteClass == ByteClass::kGapNarrow || byteClass == ByteClass::kGapWide) {
      main_.lastWasMasked = false;
    }
  }
  main_.seen += text - main_.position;
  sequence_.seen += sequence - sequence_.position;
  main_.position = text;
  sequence_.position = sequence;
  write({block_.bytes.data() + from, i - from}, sink);
  return i;
}

void Masker::Engine::stepByte(std::size_t at, MaskedSink& sink) {
  // Before the byte is judged: what is decided here must not overtake it.
  if (queue_.full()) resolveAll(sink);
  const char byte = block_.bytes[at];
  switch (block_.classes[at]) {
    case ByteClass::kText:
      stepLanes(at, true, projections_.runsOn(at) || !sequence_.quiet());
      break;
    case ByteClass::kSequence:
      stepLanes(at, false, true);
      break;
    case ByteClass::kSequenceStart:
      endSequence();
      ++sequence_.position;
      push({.byte = byte, .kind = Entry::Kind::kPass});
      break;
    case ByteClass::kSequenceEnd:
      endSequence();
      push({.byte = byte, .kind = Entry::Kind::kPass});
      break;
    case ByteClass::kGapNarrow:
      stepGap(byte, ShapeTracker::Gap::kNarrow);
      break;
    case ByteClass::kGapWide:
      stepGap(byte, ShapeTracker::Gap::kWide);
      break;
    case ByteClass::kPass:
      push({.byte = byte, .kind = Entry::Kind::kPass});
      break;
  }
  release(sink);
}

// --- Matching ---

void Masker::Engine::stepLanes(std::size_t at, bool inText, bool inSequence) {
  const char byte = block_.bytes[at];
  ShapeTracker::Verdict text;
  ShapeTracker::Verdict sequence;
  if (inText) text = main_.tracker.step(byte);
  if (inSequence) sequence = sequence_.tracker.step(byte);
  mask(main_, text);
  mask(sequence_, sequence);
  push({.byte = byte, .kind = Entry::Kind::kLanes, .inText = inText, .inSequence = inSequence});
  if (text.current) queue_.mask(Lane::kText, 1, text.shape);
  if (sequence.current) queue_.mask(Lane::kSequence, 1, sequence.shape);
  if (inText) {
    advance(main_, byte);
    ++main_.position;
    fireEvents(main_);
  }
  if (inSequence) {
    advance(sequence_, byte);
    if (!inText || projections_.runsOn(at)) ++sequence_.position;
    fireEvents(sequence_);
  }
}

void Masker::Engine::advance(Channel& channel, char byte) {
  ++channel.seen;
  channel.literal = secrets_->next(channel.literal, byte);
  if (const std::uint32_t length = secrets_->matchLength(channel.literal); length > 0) {
    queue_.mask(channel.lane, length, kKnownValue);
  }
  if (!channel.committedFrom) return;
  if (channel.seen - secrets_->depth(channel.literal) == *channel.committedFrom) {
    queue_.mask(channel.lane, 1, kKnownValue);
  } else {
    channel.committedFrom.reset();
  }
}

void Masker::Engine::fireEvents(Channel& channel) {
  for (; channel.eventAt() <= channel.position; ++channel.nextEvent) {
    channel.tracker.activate(channel.events[channel.nextEvent].shape);
  }
}

void Masker::Engine::endSequence() {
  mask(sequence_, sequence_.tracker.finish(ShapeTracker::Ending::kComplete));
  sequence_.literal = LiteralAutomaton::kRoot;
  sequence_.committedFrom.reset();
}

void Masker::Engine::stepGap(char byte, ShapeTracker::Gap gap) {
  endSequence();
  mask(main_, main_.tracker.gap(gap));
  if (!main_.tracker.insidePem()) push({.byte = byte, .kind = Entry::Kind::kGap});
}

void Masker::Engine::mask(const Channel& channel, const ShapeTracker::Verdict& verdict) {
  if (verdict.trailing > 0) queue_.mask(channel.lane, verdict.trailing, verdict.shape);
}

// --- Holding and output ---

void Masker::Engine::push(Entry entry) {
  if (queue_.empty()) epoch_ = now_;
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now_ - epoch_).count();
  entry.since = static_cast<std::uint32_t>(std::max<std::int64_t>(since, 0));
  queue_.push(entry);
}

std::uint32_t Masker::Engine::undecided(const Channel& channel) const noexcept {
  const std::uint32_t literal = channel.committedFrom ? 0 : secrets_->openLength(channel.literal);
  return std::max(literal, channel.tracker.undecided());
}

void Masker::Engine::release(MaskedSink& sink) {
  if (queue_.empty()) return;
  const std::uint32_t text = undecided(main_);
  const std::uint32_t sequence = undecided(sequence_);
  while (!queue_.empty()) {
    const Entry& entry = queue_.front();
    const bool open = (entry.inText && queue_.count(Lane::kText) <= text) ||
                      (entry.inSequence && queue_.count(Lane::kSequence) <= sequence);
    if (open && !entry.masked) return;
    emit(entry, sink);
    queue_.pop();
  }
}

void Masker::Engine::resolve(Channel& channel) {
  const std::uint32_t held = queue_.count(channel.lane);
  mask(channel, channel.tracker.resolve(held));
  const std::uint32_t open = secrets_->openLength(channel.literal);
  if (channel.committedFrom || open <= kSafeKnownBytes) return;
  const std::uint32_t shown = open - std::min(open, held);
  queue_.mask(channel.lane, open - std::max(shown, kSafeKnownBytes), kKnownValue);
  channel.committedFrom = channel.seen - open;
}

void Masker::Engine::resolveAll(MaskedSink& sink) {
  resolve(main_);
  resolve(sequence_);
  for (; !queue_.empty(); queue_.pop()) emit(queue_.front(), sink);
}

void Masker::Engine::emit(const Entry& entry, MaskedSink& sink) {
  if (entry.kind == Entry::Kind::kGap) main_.lastWasMasked = false;
  if (entry.kind == Entry::Kind::kLanes) {
    Channel& channel = entry.inText ? main_ : sequence_;
    const bool again = entry.masked && channel.lastWasMasked;
    channel.lastWasMasked = entry.masked;
    if (again) return;
    if (entry.masked) {
      ++markers;
      write("[masked:", sink);
      write(labelOf(entry.shape), sink);
      write("]", sink);
      return;
    }
  }
  write({&entry.byte, 1}, sink);
}

void Masker::Engine::write(std::string_view bytes, MaskedSink& sink) {
  if (bytes.size() > out_.size() - outSize_) flush(sink);
  std::copy(bytes.begin(), bytes.end(), out_.begin() + static_cast<std::ptrdiff_t>(outSize_));
  outSize_ += bytes.size();
}

void Masker::Engine::flush(MaskedSink& sink) {
  const std::size_t size = std::exchange(outSize_, 0);
  if (size > 0) sink.onMasked(MaskedBytes({out_.data(), size}));
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
  flush(sink);
}

void Masker::Engine::finish(MaskedSink& sink) {
  lexer.flush(block_);
  processBlock(sink);
  mask(main_, main_.tracker.finish(ShapeTracker::Ending::kCut));
  mask(sequence_, sequence_.tracker.finish(ShapeTracker::Ending::kCut));
  resolveAll(sink);
  flush(sink);
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
    outSize_ = 0;
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
std::uint64_t Masker::rawBytes() const noexcept {
  return engine_->rawBytes;
}
std::uint64_t Masker::maskedCount() const noexcept {
  return engine_->markers;
}

}  // namespace factionos::redaction
