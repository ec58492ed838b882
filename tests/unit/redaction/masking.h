#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/redaction/known_secrets.h"
#include "broker/redaction/masker.h"
#include "broker/redaction/pattern_set.h"

namespace factionos::redaction::testing {

using namespace std::chrono_literals;
using Secrets = std::shared_ptr<const LiteralAutomaton>;

class Collector final : public MaskedSink {
 public:
  void onMasked(MaskedBytes bytes) override { text.append(bytes.view()); }
  std::string text;
};

// Compiled once a test binary; compiling is what takes time, and the set is immutable.
const PatternSet& patterns();
Secrets secretsOf(const std::vector<std::string>& values);

// A masker with a clock that the test moves.
class Stream {
 public:
  explicit Stream(const std::vector<std::string>& secrets = {}, MaskerLimits limits = {});
  Stream& feed(std::string_view raw);
  Stream& gap(std::uint64_t bytes);
  // Moves the clock and lets the timer run, as the event loop would.
  Stream& wait(std::chrono::milliseconds time);
  Stream& finish();
  [[nodiscard]] const std::string& text() const { return sink_.text; }
  Masker& masker() { return masker_; }

 private:
  Masker masker_;
  Collector sink_;
  Masker::Time now_{};
};

std::string maskAll(std::string_view raw, const std::vector<std::string>& secrets = {});
std::string maskChunks(const std::vector<std::string_view>& chunks,
                       const std::vector<std::string>& secrets = {});

// `length` characters of the alphabet, different for each seed; contains every kind that the alphabet has.
std::string body(std::size_t length, std::string_view alphabet, unsigned seed = 1);
inline constexpr std::string_view kAlnumChars =
    "aZ3bY7cX9dW1eV5fU2gT8hS4iR6jQ0kPlOmNnMoLpKqJrIsHtGuFvEwDxCyBzA";
inline constexpr std::string_view kHexChars = "0a1b2c3d4e5f6789";
inline constexpr std::string_view kUpperChars = "A2B3C4D5E6F7GHIJKLMNOPQRSTUVWXYZ";
inline constexpr std::string_view kUrlChars =
    "aZ3-bY7_cX9dW1eV5fU2gT8hS4iR6jQ0kPlOmNnMoLpKqJrIsHtGuFvEwDxCyBzA";

// Length of the longest run of `secret` that `text` contains.
std::size_t longestLeak(std::string_view text, std::string_view secret);

}  // namespace factionos::redaction::testing
