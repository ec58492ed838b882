#include "protocol/json/repair.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/json/scalars.h"

namespace factionos::json {
namespace {

// Numbers of fewer characters fit: 18 digits into 64 bits; an exponent needs a look of its own.
constexpr std::size_t kAlwaysFits = 18;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t digitsAt(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), isDigit) - text.begin());
}

// Length of the number that `text` begins with by JSON's grammar; 0: none, or it is followed by more of a
// token.
std::size_t numberLength(std::string_view text) {
  std::size_t at = text.substr(0, 1) == "-" ? 1 : 0;
  std::size_t whole = digitsAt(text.substr(at));
  if (whole == 0 || (whole > 1 && text[at] == '0')) return 0;
  at += whole;
  if (text.substr(at, 1) == ".") {
    std::size_t digits = digitsAt(text.substr(at + 1));
    if (digits == 0) return 0;
    at += 1 + digits;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 1 : 0;
    std::size_t digits = digitsAt(text.substr(at + 1 + sign));
    if (digits == 0) return 0;
    at += 1 + sign + digits;
  }
  bool ends = at == text.size() || std::string_view(",]} \t\r\n").find(text[at]) != std::string_view::npos;
  return ends ? at : 0;
}

std::optional<unsigned> unicodeEscape(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  unsigned value = 0;
  for (char c : text.substr(2, 4)) {
    int digit = hexDigit(c);
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

class Repair {
 public:
  explicit Repair(kj::ArrayPtr<char> json) : json_(json) {}

  std::size_t run() {
    while (at_ < json_.size()) {
      char c = json_[at_];
      if (c == '"') {
        string();
      } else if (c == '-' || isDigit(c)) {
        number();
      } else {
        ++at_;
      }
    }
    return changed_;
  }

 private:
  [[nodiscard]] std::string_view rest() const { return {json_.begin() + at_, json_.size() - at_}; }

  void string() {
    ++at_;
    while (at_ < json_.size() && json_[at_] != '"') {
      if (json_[at_] != '\\') {
        ++at_;
      } else {
        escape();
      }
    }
    ++at_;
  }

  void escape() {
    auto unit = unicodeEscape(rest());
    if (!unit || *unit < 0xD800 || *unit > 0xDFFF) {
      at_ += 2;
      return;
    }
    auto second = unicodeEscape(rest().substr(6));
    bool pair = *unit < 0xDC00 && second && *second >= 0xDC00 && *second <= 0xDFFF;
    if (!pair) {
      constexpr std::string_view kReplacement = "FFFD";
      std::copy(kReplacement.begin(), kReplacement.end(), json_.begin() + at_ + 2);
      ++changed_;
    }
    at_ += pair ? 12 : 6;
  }

  void number() {
    std::size_t length = numberLength(rest());
    std::string_view text = rest().substr(0, length);
    if (length > kAlwaysFits || text.find_first_of("eE") != std::string_view::npos) {
      constexpr std::string_view kFraction =
          "0.0";  // no field of ours takes one, so it is dropped as a wrong type
      std::fill_n(json_.begin() + at_, length, ' ');
      std::copy(kFraction.begin(), kFraction.end(), json_.begin() + at_);
      ++changed_;
    }
    at_ += std::max<std::size_t>(length, 1);
    while (at_ < json_.size() && (isDigit(json_[at_]) || json_[at_] == '.'))
      ++at_;  // the rest of a malformed token
  }

  kj::ArrayPtr<char> json_;
  std::size_t at_ = 0;
  std::size_t changed_ = 0;
};

}  // namespace

std::size_t repairTolerated(kj::ArrayPtr<char> json) {
  return Repair(json).run();
}

}  // namespace factionos::json
