#include "tests/unit/redaction/masking.h"

#include <algorithm>
#include <span>

#include <gtest/gtest.h>

namespace factionos::redaction::testing {

const PatternSet& patterns() {
  static const PatternSet set;
  return set;
}

Secrets secretsOf(const std::vector<std::string>& values) {
  KnownSecrets secrets;
  for (const std::string& value : values) EXPECT_EQ(secrets.add(value), KnownSecrets::Added::kOk) << value;
  return std::move(secrets).freeze();
}

Stream::Stream(const std::vector<std::string>& secrets, MaskerLimits limits)
    : masker_(patterns(), secretsOf(secrets), limits) {}

Stream& Stream::feed(std::string_view raw) {
  masker_.feed(std::as_bytes(std::span(raw)), now_, sink_);
  return *this;
}

Stream& Stream::gap(std::uint64_t bytes) {
  masker_.gap(bytes, sink_);
  return *this;
}

Stream& Stream::wait(std::chrono::milliseconds time) {
  now_ += time;
  if (const auto at = masker_.deadline(); at && *at <= now_) masker_.tick(now_, sink_);
  return *this;
}

Stream& Stream::finish() {
  masker_.finish(sink_);
  return *this;
}

std::string maskAll(std::string_view raw, const std::vector<std::string>& secrets) {
  return Stream(secrets).feed(raw).finish().text();
}

std::string maskChunks(const std::vector<std::string_view>& chunks, const std::vector<std::string>& secrets) {
  Stream stream(secrets);
  for (const std::string_view chunk : chunks) stream.feed(chunk);
  return stream.finish().text();
}

std::string body(std::size_t length, std::string_view alphabet, unsigned seed) {
  std::string out;
  std::size_t at = seed * 7;
  for (std::size_t i = 0; i < length; ++i) {
    out.push_back(alphabet[at % alphabet.size()]);
    at += 1 + (i * seed) % 3;
  }
  return out;
}

std::size_t longestLeak(std::string_view text, std::string_view secret) {
  std::size_t longest = 0;
  for (std::size_t from = 0; from < secret.size(); ++from) {
    while (from + longest < secret.size() &&
           text.find(secret.substr(from, longest + 1)) != std::string_view::npos) {
      ++longest;
    }
  }
  return longest;
}

}  // namespace factionos::redaction::testing
