#include "tests/canary/canaries.h"

#include <algorithm>
#include <array>
#include <random>

#include <sodium.h>

#include "broker/redaction/matrix.h"

namespace factionos::test {
namespace {

constexpr std::size_t kTagLength = 10;
// Without vowels, so that no word comes out of it.
constexpr std::string_view kAlphabet = "0123456789bcdfghjklmnpqrstvwxz";

std::string randomText(std::size_t length) {
  static std::mt19937_64 random(std::random_device{}());
  std::string text;
  while (text.size() < length) text += kAlphabet[random() % kAlphabet.size()];
  return text;
}

std::string hex(const std::string& text) {
  std::string out(text.size() * 2 + 1, '\0');
  sodium_bin2hex(out.data(), out.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  out.pop_back();
  return out;
}

// What every base64 of a text with `tag` in it holds, when `before` bytes of its group stand before the tag:
// the characters that only the tag's bits make.
std::string base64(const std::string& tag, std::size_t before, int variant) {
  const auto whole = std::string(before, '\0') + tag;
  std::array<char, 64> out{};
  sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(whole.data()),
                    whole.size(), variant);
  const auto first = (before * 8 + 5) / 6;
  const auto last = whole.size() * 8 / 6;
  return std::string(out.data()).substr(first, last - first);
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each;
  });
  return out;
}

std::string around(std::string_view bytes, std::size_t at) {
  const auto from = at < 60 ? 0 : at - 60;
  std::string text(bytes.substr(from, 140));
  std::ranges::replace_if(
      text, [](char each) { return each < ' '; }, '.');
  return text;
}

}  // namespace

bool Place::mayHold(Category category) const {
  const auto verdict = redaction::verdictOf(category, boundary);
  // The last part of a path is its action's label, wherever actions are shown or kept.
  // So is a task's name, of its entry.
  if (category == Category::kFileName || category == Category::kQueueEntry)
    return verdict != redaction::Verdict::kNever;
  return (verdict == redaction::Verdict::kMaskedBounded || verdict == redaction::Verdict::kOperatorOnly) &&
         std::ranges::find(shows, category) != shows.end();
}

Canaries::Canaries() : tag_(randomText(kTagLength)) {
  for (std::size_t before = 0; before < 3; ++before) {
    for (const int variant : {sodium_base64_VARIANT_ORIGINAL, sodium_base64_VARIANT_URLSAFE})
      disguises_.push_back(base64(tag_, before, variant));
  }
  std::string utf16;
  for (const char each : tag_) utf16 += std::string{each, '\0'};
  utf16.pop_back();
  disguises_.push_back(utf16);
}

std::string Canaries::plant(Category category, std::string origin) {
  const std::lock_guard lock(mutex_);
  auto value = tag_ + randomText(kLength - tag_.size());
  canaries_.emplace(value, Planted{category, std::move(origin)});
  return value;
}

void Canaries::know(Category category, std::string value, std::string origin) {
  const std::lock_guard lock(mutex_);
  known_.emplace(std::move(value), Planted{category, std::move(origin)});
}

// Of what stands there, the canary that shares most of it decides.
bool Canaries::mayBeCut(std::string_view piece, const Place& place) const {
  std::size_t longest = 0;
  bool may = false;
  for (const auto& [value, planted] : canaries_) {
    const auto end = std::ranges::mismatch(piece, value).in1;
    const auto shared = static_cast<std::size_t>(end - piece.begin());
    if (shared < longest) continue;
    may = place.mayHold(planted.category) || (shared == longest && may);
    longest = shared;
  }
  return may;
}

void Canaries::judgePlain(std::string_view bytes, const Place& place, std::vector<std::string>& found) const {
  const auto judge = [&](const std::string& value, const Planted& planted, std::size_t at) {
    if (place.mayHold(planted.category)) return;
    found.push_back(std::string(nameOf(planted.category)) + " of " + planted.origin + " (" + value + ") at " +
                    std::string(nameOf(place.boundary)) + ": " + around(bytes, at));
  };
  for (auto at = bytes.find(tag_); at != bytes.npos; at = bytes.find(tag_, at + 1)) {
    const auto planted = canaries_.find(bytes.substr(at, kLength));
    if (planted == canaries_.end()) {
      if (!mayBeCut(bytes.substr(at, kLength), place))
        found.push_back("a piece of a canary: " + around(bytes, at));
    } else {
      judge(planted->first, planted->second, at);
    }
  }
  for (const auto& [value, planted] : known_) {
    if (const auto at = bytes.find(value); at != bytes.npos) judge(value, planted, at);
  }
}

void Canaries::judgeDisguised(std::string_view bytes, std::vector<std::string>& found) const {
  for (const auto& disguise : disguises_) {
    if (const auto at = bytes.find(disguise); at != bytes.npos)
      found.push_back("a canary in disguise: " + around(bytes, at));
  }
  const auto small = lowered(bytes);
  if (const auto at = small.find(hex(tag_)); at != small.npos)
    found.push_back("a canary in hex: " + around(bytes, at));
  for (auto at = small.find(tag_); at != small.npos; at = small.find(tag_, at + 1)) {
    if (bytes.substr(at, tag_.size()) != tag_)
      found.push_back("a canary in other letters: " + around(bytes, at));
  }
}

std::vector<std::string> Canaries::misplaced(std::string_view bytes, const Place& place) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  judgePlain(bytes, place, found);
  judgeDisguised(bytes, found);
  return found;
}

std::size_t Canaries::planted() const {
  const std::lock_guard lock(mutex_);
  return canaries_.size() + known_.size();
}

}  // namespace factionos::test
