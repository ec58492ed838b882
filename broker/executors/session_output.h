#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "broker/actions/outgoing.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// The patterns that every session's masker shares; compiled once, before the sandbox is entered.
class MaskRules {
 public:
  // How far the values that must never be shown are known to the masker.
  struct Coverage {
    std::uint32_t known = 0;
    std::uint32_t weak = 0;  // too short or of too few different bytes: would mask ordinary text, so is shown
    std::uint32_t refused = 0;  // too long, too many or unreadable: while there is one, no session is started
  };

  // `secrets`: values that must never be shown, such as the tokens that lie in the home's tokens/.
  // `unreadable`: how many more there are whose value is not known.
  explicit MaskRules(const std::vector<std::string>& secrets, std::uint32_t unreadable = 0);
  MaskRules(MaskRules&&) noexcept;
  ~MaskRules();
  // A whole text, or a whole piece of bytes, at most `maxBytes` of it. Throws where it can't be masked.
  redaction::MaskedText mask(std::string_view raw, std::size_t maxBytes, redaction::Piece piece = {}) const;
  redaction::MaskedText maskBytes(std::string_view raw, redaction::Piece piece = {}) const;
  struct Compiled;
  const Compiled& compiled() const { return *compiled_; }
  const Coverage& coverage() const { return coverage_; }

 private:
  Coverage coverage_;
  std::unique_ptr<Compiled> compiled_;
};

// One session's or run's output from the moment it leaves its worker: masked in the stream, then kept in a
// bounded window. Nothing before the masker is ever kept.
class SessionOutput {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  // `streams`: how many there are, each with a masker of its own; they share the window.
  SessionOutput(const MaskRules& rules, std::uint64_t capBytes, unsigned streams = 1);
  ~SessionOutput();

  // Of the terminal, so that a secret which wraps at its edge is seen as one.
  void setColumns(unsigned columns);
  void feed(std::span<const std::uint8_t> raw, Instant now, unsigned stream = 0);
  // So many bytes of the stream are missing here, which somebody else has dropped.
  void lose(std::uint64_t bytes, unsigned stream);
  // So many are missing at the end, nobody knows of which stream.
  void loseAtEnd(std::uint64_t bytes);
  // When tick() must be called at the latest, so that a prompt is shown in time.
  std::optional<Instant> deadline() const;
  void tick(Instant now);
  // No more will come: what was held back is shown or masked.
  void finish();

  std::uint64_t rawBytes() const { return rawBytes_; }
  std::uint64_t shownBytes() const;
  // As Output in actions.capnp counts them.
  std::uint64_t totalBytes() const { return shownBytes() + lostBytes(); }
  std::uint64_t droppedBytes() const;
  std::uint64_t lines() const;

  // `after` below zero: head and tail. C: kTerminalOutput or kContainerOutput.
  template <redaction::Category C>
  void fill(std::int64_t after,
            actions::Outgoing<redaction::Boundary::kApiResponse, schema::Output> output) const;

 private:
  struct Stages;
  // What never came to the window: lost before the masker, or withheld by it around a gap.
  std::uint64_t lostBytes() const;

  std::unique_ptr<Stages> stages_;
  std::uint64_t rawBytes_ = 0;
  std::uint64_t lostBytes_ = 0;
  bool finished_ = false;
};

}  // namespace factionos::broker
