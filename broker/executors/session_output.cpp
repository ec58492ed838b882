#include "broker/executors/session_output.h"

#include <algorithm>

#include "broker/redaction/known_secrets.h"
#include "broker/redaction/masker.h"
#include "broker/redaction/output.h"
#include "broker/redaction/pattern_set.h"
#include "broker/redaction/redactor.h"

namespace factionos::broker {
namespace {

using ApiRedactor = redaction::Redactor<redaction::Boundary::kApiResponse>;

// One reply carries at most so much text: well below what the front's line takes in a message.
constexpr std::size_t kMaxReplyText = 1024 * 1024;
constexpr std::size_t kMinCap = 4096;

redaction::OutputLimits limitsOf(std::uint64_t capBytes) {
  const auto total = std::max<std::size_t>(capBytes, kMinCap);
  return {.totalBytes = total, .headBytes = std::min<std::size_t>(total / 4, 64 * 1024)};
}

}  // namespace

struct MaskRules::Compiled {
  redaction::PatternSet patterns;
  std::shared_ptr<const redaction::LiteralAutomaton> secrets;
};

redaction::MaskedText MaskRules::mask(std::string_view raw, std::size_t maxBytes,
                                      redaction::Piece piece) const {
  return redaction::maskText(compiled_->patterns, compiled_->secrets, raw, maxBytes, piece);
}

redaction::MaskedText MaskRules::maskBytes(std::string_view raw, redaction::Piece piece) const {
  return redaction::maskBytes(compiled_->patterns, compiled_->secrets, raw, piece);
}

MaskRules::MaskRules(const std::vector<std::string>& secrets, std::uint32_t unreadable)
    : coverage_{.known = 0, .weak = 0, .refused = unreadable}, compiled_(std::make_unique<Compiled>()) {
  using Added = redaction::KnownSecrets::Added;
  redaction::KnownSecrets known;
  for (const auto& secret : secrets) {
    switch (known.add(secret)) {
      case Added::kOk:
        ++coverage_.known;
        break;
      case Added::kTooShort:
      case Added::kTooWeak:
        ++coverage_.weak;
        break;
      case Added::kTooLong:
      case Added::kTooMany:
        ++coverage_.refused;
        break;
    }
  }
  compiled_->secrets = std::move(known).freeze();
}
MaskRules::MaskRules(MaskRules&&) noexcept = default;
MaskRules::~MaskRules() = default;

struct SessionOutput::Stages {
  Stages(const MaskRules& rules, std::uint64_t capBytes, unsigned streams) : window(limitsOf(capBytes)) {
    for (unsigned i = 0; i < streams; ++i)
      maskers.push_back(
          std::make_unique<redaction::Masker>(rules.compiled().patterns, rules.compiled().secrets));
  }
  bool withholding() const {
    return std::ranges::any_of(maskers, [](const auto& masker) { return masker->withholding(); });
  }
  std::vector<std::unique_ptr<redaction::Masker>> maskers;
  redaction::OutputWindow window;
};

SessionOutput::SessionOutput(const MaskRules& rules, std::uint64_t capBytes, unsigned streams)
    : stages_(std::make_unique<Stages>(rules, capBytes, streams)) {}
SessionOutput::~SessionOutput() = default;

void SessionOutput::setColumns(unsigned columns) {
  for (const auto& masker : stages_->maskers) masker->setColumns(columns);
}

void SessionOutput::feed(std::span<const std::uint8_t> raw, Instant now, unsigned stream) {
  rawBytes_ += raw.size();
  stages_->maskers.at(stream)->feed(std::as_bytes(raw), now, stages_->window);
}

void SessionOutput::lose(std::uint64_t bytes, unsigned stream) {
  if (bytes == 0) return;
  lostBytes_ += bytes;
  stages_->maskers.at(stream)->gap(bytes, stages_->window);
}

void SessionOutput::loseAtEnd(std::uint64_t bytes) {
  if (bytes == 0) return;
  lose(bytes, 0);
  for (std::size_t i = 1; i < stages_->maskers.size(); ++i) stages_->maskers[i]->gap(0, stages_->window);
}

std::uint64_t SessionOutput::lostBytes() const {
  std::uint64_t bytes = lostBytes_;
  for (const auto& masker : stages_->maskers) bytes += masker->afterGapBytes();
  return bytes;
}

std::optional<SessionOutput::Instant> SessionOutput::deadline() const {
  std::optional<Instant> first;
  for (const auto& masker : stages_->maskers) {
    const auto deadline = masker->deadline();
    if (deadline && (!first || *deadline < *first)) first = deadline;
  }
  return first;
}

void SessionOutput::tick(Instant now) {
  for (const auto& masker : stages_->maskers) masker->tick(now, stages_->window);
}

void SessionOutput::finish() {
  if (finished_) return;
  finished_ = true;
  for (const auto& masker : stages_->maskers) masker->finish(stages_->window);
  stages_->window.finish();
}

std::uint64_t SessionOutput::shownBytes() const {
  return stages_->window.totalBytes();
}
std::uint64_t SessionOutput::droppedBytes() const {
  return stages_->window.droppedBytes() + lostBytes();
}
std::uint64_t SessionOutput::lines() const {
  return stages_->window.lines();
}

template <redaction::Category C>
void SessionOutput::fill(std::int64_t after,
                         actions::Outgoing<redaction::Boundary::kApiResponse, schema::Output> output) const {
  using O = schema::Output::Builder;
  const auto& window = stages_->window;
  const auto shown = [](const redaction::OutputWindow::Text& text) { return ApiRedactor::masked<C>(text); };
  output.set(&O::setTotalBytes, totalBytes());
  output.set(&O::setDroppedBytes, droppedBytes());
  output.set(&O::setLines, window.lines());
  output.set(&O::setTruncated, droppedBytes() != 0);
  output.set(&O::setWithheld, stages_->withholding());
  if (after < 0 && window.truncated()) {
    const auto head = window.head(kMaxReplyText / 2);
    const auto tail = window.tail(kMaxReplyText / 2);
    output.set(&O::setHead, shown(head));
    output.set(&O::setTail, shown(tail));
    output.set(&O::setOffset, tail.from());
    output.set(&O::setNext, tail.next());
    output.set(&O::setGapBytes, tail.from() - std::min(head.next(), tail.from()));
    return;
  }
  const auto text = window.read(after < 0 ? 0 : static_cast<std::uint64_t>(after), kMaxReplyText);
  output.set(&O::setText, shown(text));
  output.set(&O::setOffset, text.from());
  output.set(&O::setNext, text.next());
  output.set(&O::setGapBytes, text.gap());
}

using ShownOutput = actions::Outgoing<redaction::Boundary::kApiResponse, schema::Output>;
template void SessionOutput::fill<redaction::Category::kTerminalOutput>(std::int64_t, ShownOutput) const;
template void SessionOutput::fill<redaction::Category::kContainerOutput>(std::int64_t, ShownOutput) const;

}  // namespace factionos::broker
