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
  // `secrets`: values that must never be shown, such as the tokens that lie in the home's tokens/.
  explicit MaskRules(const std::vector<std::string>& secrets);
  ~MaskRules();
  struct Compiled;
  const Compiled& compiled() const { return *compiled_; }

 private:
  std::unique_ptr<Compiled> compiled_;
};

// One session's output from the moment it leaves the pty worker: masked in the stream, then kept in a bounded
// window. Nothing before the masker is ever kept.
class SessionOutput {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  SessionOutput(const MaskRules& rules, std::uint64_t capBytes);
  ~SessionOutput();

  // Of the terminal, so that a secret which wraps at its edge is seen as one.
  void setColumns(unsigned columns);
  void feed(std::span<const std::uint8_t> raw, Instant now);
  // When tick() must be called at the latest, so that a prompt is shown in time.
  std::optional<Instant> deadline() const;
  void tick(Instant now);
  // No more will come: what was held back is shown or masked.
  void finish();

  std::uint64_t rawBytes() const { return rawBytes_; }
  std::uint64_t shownBytes() const;
  std::uint64_t droppedBytes() const;
  std::uint64_t lines() const;

  // `after` below zero: head and tail.
  void fill(std::int64_t after,
            actions::Outgoing<redaction::Boundary::kApiResponse, schema::Output> output) const;

 private:
  struct Stages;
  std::unique_ptr<Stages> stages_;
  std::uint64_t rawBytes_ = 0;
  bool finished_ = false;
};

}  // namespace factionos::broker
