#include "broker/state/ids.h"

#include <algorithm>
#include <utility>

#include <sodium.h>

namespace factionos::state {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kTimeCharacters = 10;    // 48 bits, 5 a character
constexpr std::size_t kRandomCharacters = 16;  // 80 bits
constexpr std::uint64_t kLastMs = (std::uint64_t{1} << 48) - 1;

std::uint64_t milliseconds(Time time) {
  const auto count = time.time_since_epoch().count();
  return count < 0 ? 0 : std::min(static_cast<std::uint64_t>(count), kLastMs);
}

void appendRandom(std::string& text, const std::array<std::uint8_t, 10>& bytes) {
  for (std::size_t character = 0; character < kRandomCharacters; ++character) {
    unsigned value = 0;
    for (std::size_t bit = character * 5; bit < character * 5 + 5; ++bit) {
      value = value << 1 | ((bytes[bit / 8] >> (7 - bit % 8)) & 1U);
    }
    text.push_back(kAlphabet[value]);
  }
}

}  // namespace

IdGenerator::IdGenerator(Clock clock, Time floor) : clock_(std::move(clock)), lastMs_(milliseconds(floor)) {}

void IdGenerator::advance() {
  const std::uint64_t now = milliseconds(clock_());
  if (!fresh_ && now <= lastMs_) {
    for (std::size_t i = random_.size(); i-- > 0;) {
      if (++random_[i] != 0) return;
    }
    ++lastMs_;  // all 80 bits used up
  } else {
    // A restart may meet its own last millisecond, whose random part it no longer knows.
    lastMs_ = now > lastMs_ ? now : lastMs_ + 1;
  }
  fresh_ = false;
  randombytes_buf(random_.data(), random_.size());
}

std::string IdGenerator::next(IdKind kind) {
  advance();
  std::string text(prefixOf(kind));
  for (std::size_t i = kTimeCharacters; i-- > 0;) text.push_back(kAlphabet[(lastMs_ >> (5 * i)) & 31]);
  appendRandom(text, random_);
  return text;
}

std::string_view prefixOf(IdKind kind) {
  switch (kind) {
    case IdKind::kAction:
      return "act_";
    case IdKind::kSession:
      return "ses_";
    case IdKind::kRun:
      return "run_";
    case IdKind::kTask:
      return "tsk_";
    case IdKind::kCampaign:
      return "cmp_";
    case IdKind::kEvent:
      return "evt_";
  }
  return "";
}

bool isId(IdKind kind, std::string_view text) {
  const std::string_view prefix = prefixOf(kind);
  return text.size() == prefix.size() + kTimeCharacters + kRandomCharacters && text.starts_with(prefix) &&
         text[prefix.size()] <= '7' &&
         text.find_first_not_of(kAlphabet, prefix.size()) == std::string_view::npos;
}

std::string runIdOf(std::string_view actionId) {
  return std::string(prefixOf(IdKind::kRun)).append(actionId.substr(prefixOf(IdKind::kAction).size()));
}

std::string actionIdOf(std::string_view runId) {
  return std::string(prefixOf(IdKind::kAction)).append(runId.substr(prefixOf(IdKind::kRun).size()));
}

}  // namespace factionos::state
