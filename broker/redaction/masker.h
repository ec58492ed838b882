#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "broker/redaction/literal_automaton.h"
#include "broker/redaction/pattern_set.h"

namespace factionos::redaction {

// Terminal output after masking. Only a Masker and its writer make one, so what takes a MaskedBytes can't be
// given raw bytes.
class MaskedBytes {
 public:
  [[nodiscard]] std::string_view view() const noexcept { return bytes_; }

 private:
  friend class Masker;
  friend class MaskedWriter;
  explicit MaskedBytes(std::string_view bytes) noexcept : bytes_(bytes) {}
  std::string_view bytes_;
};

class MaskedSink {
 public:
  virtual ~MaskedSink() = default;
  // The view is valid during the call. What it throws makes the masker withhold everything from then on.
  virtual void onMasked(MaskedBytes bytes) = 0;
};

struct MaskerLimits {
  // How long output may be kept back while it could still become a secret (SPEC 7.4).
  std::chrono::milliseconds holdTime{50};
  // How many bytes may be kept back, escape sequences among them.
  std::size_t holdBytes = 4096;
};

// Masks secrets in one stream of raw terminal output, in memory that is fixed at construction.
//
// What is masked: every value of KnownSecrets in all its forms, and the body of every public format of
// shapes.h. A secret becomes `[masked:LABEL]`; labels are fixed words of ours. The prefix of a public format
// stays visible.
//
// Escape sequences (7-bit and C1), code points that can't be seen (isInvisible) and line gaps inside a secret
// are invisible to matching and are passed on in their place, so that colours stay right; line breaks inside
// a PEM body are dropped. What a sequence itself holds (titles, links, clipboard writes) is matched on a
// channel of its own.
//
// Line gaps (CR, LF, the indentation after them, and the space that line editors write before a CR where a
// line wraps) never break a known value nor an undecided token. A decided token goes on after a gap only if
// its line was full (min(60, width) columns), else the next line's first word would be masked with it.
//
// Timing: a byte is kept back only while it could be part of a secret. After holdTime, or when holdBytes are
// kept, the open question is decided: at most the safe prefix is shown (kSafeKnownBytes of a known value;
// Shape::safe body bytes of a format), the bytes after it count as secret, and so does what continues them.
// Without such a pause the result does not depend on how the stream was cut. The first bytes of a code point
// wait for its next one without limit: no reader can show them before, and only then is it known what they
// are.
//
// Not covered: output redrawn by moving the cursor, values spelt with overstrikes, look-alike letters or
// combining marks, encodings not listed in known_secrets.h, and formats without a prefix when the program
// pauses inside them (Mailchimp, MaxMind).
// Whoever can print guesses and watch the delay or a marker learns whether a guess is right: known values
// must have the entropy to stand that.
//
// A gap, told by whoever lost bytes of the stream: what is kept back is dropped, `[dropped:N]` stands where
// they are missing, and what may be the rest of a secret (BlindSpot) is withheld and counted by
// `[withheld:after_gap bytes=N]`.
//
// Failure: any exception, from a sink too, or error of the matcher makes the masker withhold: what it kept
// and all later bytes are counted and dropped, and the sink gets `[withheld:masker_fault]` and at the end the
// count.
class Masker {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  static constexpr std::uint32_t kSafeKnownBytes = 2;

  // Throws MaskerFault or std::bad_alloc: then there is no output.
  Masker(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets,
         MaskerLimits limits = {});
  ~Masker();
  Masker(Masker&&) noexcept;
  Masker& operator=(Masker&&) noexcept;

  // Of the raw bytes only those of [from, to) are shown, as far as they are; what lies around them decides
  // with them what is a secret. To be called before anything is fed.
  void show(std::uint64_t from, std::uint64_t to) noexcept;

  // Terminal width in columns, after a resize too; 0 is unknown.
  void setColumns(unsigned columns) noexcept;

  void feed(std::span<const std::byte> raw, Time now, MaskedSink& sink) noexcept;
  // Here `bytes` of the stream are missing. 0: some are, told elsewhere.
  void gap(std::uint64_t bytes, MaskedSink& sink) noexcept;
  // When tick() has something to do; nothing while no byte is kept back but those of a cut code point.
  [[nodiscard]] std::optional<Time> deadline() const noexcept;
  // Decides what has been kept for holdTime. Earlier calls do nothing.
  void tick(Time now, MaskedSink& sink) noexcept;
  // The stream has ended: shows or masks what is left. Only once, and nothing may be fed after it.
  void finish(MaskedSink& sink) noexcept;

  [[nodiscard]] bool withholding() const noexcept;
  [[nodiscard]] std::uint64_t withheldBytes() const noexcept;  // raw bytes dropped after a failure
  [[nodiscard]] std::uint64_t afterGapBytes() const noexcept;  // raw bytes withheld around gaps
  [[nodiscard]] std::uint64_t rawBytes() const noexcept;       // raw bytes fed
  [[nodiscard]] std::uint64_t maskedCount() const noexcept;    // markers written

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace factionos::redaction
