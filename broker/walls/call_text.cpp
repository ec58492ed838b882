// Families of calls as text, with tests that differ in one argument alone put together.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>

#include "broker/walls/description.h"
#include "sandbox/errno_name.h"

namespace factionos::walls {
namespace {

using sandbox::ArgumentTest;
using sandbox::Call;

constexpr std::uint64_t kAll32 = 0xffffffffULL;
constexpr std::uint64_t kAll64 = ~0ULL;
constexpr std::uint64_t kHighest32 = 0x80000000ULL;
constexpr std::uint64_t kSmall = 256;  // below: decimal

std::string number(std::uint64_t value) {
  if (value < kSmall) return std::to_string(value);
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string decimal(std::uint64_t value) {
  return std::to_string(value);
}

struct Range {
  std::uint64_t first;
  std::uint64_t last;
};

std::string rangesText(std::vector<Range> ranges, std::string (*spelt)(std::uint64_t) = number) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && joined.back().last != kAll64 && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  std::string text;
  for (const Range& range : joined) {
    text += (text.empty() ? "" : "|") + spelt(range.first);
    if (range.last != range.first) text += ".." + spelt(range.last);
  }
  return text;
}

// Whether `mask` looks at all bits of `all` from some bit upward: its values are then ranges.
bool looksAtHighest(std::uint64_t mask, std::uint64_t all) {
  const std::uint64_t rest = all & ~mask;
  return (mask & ~all) == 0 && mask != 0 && (rest & (rest + 1)) == 0;
}

// The tests of one argument that are alternatives of each other.
class Alternatives {
 public:
  void add(const ArgumentTest& test) {
    const std::string name = "a" + std::to_string(test.argument);
    const std::uint64_t value = test.value & test.mask;
    if (test.compare == ArgumentTest::Compare::kOwnProcess) {
      others_.push_back(name + "=own pid");
    } else if (std::has_single_bit(test.mask) && value == test.mask) {
      anyBit_[name] |= test.mask;
    } else if (looksAtHighest(test.mask, kAll32)) {
      ranges_[name + "="].push_back({value, value | (kAll32 & ~test.mask)});
    } else if (looksAtHighest(test.mask, kAll64)) {
      ranges_[name + ":64="].push_back({value, value | ~test.mask});
    } else {
      ranges_[name + "&" + number(test.mask) + "="].push_back({value, value});
    }
  }

  // One text for each kind of test: any of them is enough.
  [[nodiscard]] std::vector<std::string> texts() const {
    auto ranges = ranges_;
    std::vector<std::string> texts;
    for (const auto& [name, bits] : anyBit_) {
      // The upper half of a range looks like one bit.
      if (bits == kHighest32) {
        ranges[name + "="].push_back({kHighest32, kAll32});
      } else {
        texts.push_back(name + " has any of " + number(bits));
      }
    }
    for (const auto& [name, each] : ranges) texts.push_back(name + rangesText(each));
    texts.insert(texts.end(), others_.begin(), others_.end());
    return texts;
  }

 private:
  std::map<std::string, std::vector<Range>> ranges_;
  std::map<std::string, std::uint64_t> anyBit_;
  std::vector<std::string> others_;
};

std::string single(const ArgumentTest& test) {
  Alternatives alone;
  alone.add(test);
  return alone.texts().front();
}

// Everything but the last test: what must be equal for two calls to stand on one line.
std::string headOf(const Call& call) {
  std::string text = sandbox::callName(call.number);
  for (std::size_t i = 0; i + 1 < call.tests.size(); ++i) text += " " + single(call.tests[i]);
  return text;
}

}  // namespace

std::vector<std::string> callTexts(const sandbox::Family& family) {
  std::vector<std::string> order;
  std::map<std::string, Alternatives> tested;
  std::vector<Range> nameless;
  for (const Call& call : family.calls) {
    if (call.number < 0) continue;  // this architecture has no such call
    const std::string head = headOf(call);
    if (head == "unknown") {
      const auto value = static_cast<std::uint64_t>(call.number);
      nameless.push_back({value, value});
      continue;
    }
    const auto [place, isNew] = tested.try_emplace(head);
    if (isNew) order.push_back(head);
    if (!call.tests.empty()) place->second.add(call.tests.back());
  }
  std::vector<std::string> texts;
  for (const std::string& head : order) {
    const std::vector<std::string> tests = tested.at(head).texts();
    if (tests.empty()) texts.push_back(head);
    for (const std::string& test : tests) texts.push_back(head + " " + test);
  }
  if (!nameless.empty()) texts.push_back("number " + rangesText(nameless, decimal));
  return texts;
}

std::string verdictText(const sandbox::Verdict& verdict) {
  using Kind = sandbox::Verdict::Kind;
  switch (verdict.kind) {
    case Kind::kAllow:
      return "allowed";
    case Kind::kErrno:
      return std::string(sandbox::errnoName(verdict.error));
    case Kind::kTrap:
      return "reported, ended";
    case Kind::kKillProcess:
      return "killed";
    case Kind::kNotify:
      return "asked of the session";
  }
  return "unknown";
}

}  // namespace factionos::walls
