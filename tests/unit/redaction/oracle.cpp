#include "tests/unit/redaction/oracle.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <hs.h>

#include "broker/redaction/known_secrets.h"
#include "broker/redaction/masker.h"
#include "broker/redaction/shape_tracker.h"
#include "broker/redaction/shapes.h"
#include "tests/unit/redaction/oracle_lexer.h"

namespace factionos::redaction::testing {
namespace {

enum class Break { kNone, kNarrow, kWide };

// One channel's text, whole.
struct Text {
  std::string bytes;
  std::vector<std::size_t> raw;    // where each byte stands in the lexed stream
  std::vector<Break> breakBefore;  // the gap before each byte
  Break breakAtEnd = Break::kNone;
  std::vector<bool> masked;
  std::vector<bool> pemBefore;  // gap before the byte is inside a PEM body
  bool pemAtEnd = false;
  // Keys whose header a sequence took that a gap cut off: their bodies begin here, behind that gap (as a
  // place in the lexed stream).
  std::map<std::size_t, std::size_t> headless;
  std::size_t own = 0;  // of a sequence: bytes before the text that follows it
  bool closed = false;  // by a gap or the next sequence
  std::optional<std::pair<std::size_t, std::size_t>> cutAt;  // by a gap: in the main text and in the stream
};

struct Prefix {
  std::size_t end;
  unsigned shape;
  bool operator<(const Prefix& o) const { return std::pair(end, shape) < std::pair(o.end, o.shape); }
};

const hs_database_t* blockDatabase() {
  static hs_database_t* database = [] {
    std::vector<std::string> expressions;
    std::vector<const char*> pointers;
    std::vector<unsigned> ids;
    for (const Shape& shape : shapes()) {
      const bool word = shape.edge == Shape::Edge::kWord;
      expressions.push_back((word ? "(?:^|[^A-Za-z0-9])(?:" : "(?:") + std::string(shape.prefix) + ")");
    }
    std::vector<unsigned> flags(expressions.size(), HS_FLAG_DOTALL);
    for (const auto& expression : expressions) {
      ids.push_back(static_cast<unsigned>(ids.size()));
      pointers.push_back(expression.c_str());
    }
    hs_database_t* made = nullptr;
    hs_compile_error_t* error = nullptr;
    EXPECT_EQ(hs_compile_multi(pointers.data(), flags.data(), ids.data(), static_cast<unsigned>(ids.size()),
                               HS_MODE_BLOCK, nullptr, &made, &error),
              HS_SUCCESS);
    return made;
  }();
  return database;
}

std::vector<Prefix> findPrefixes(const std::string& text) {
  static hs_scratch_t* scratch = [] {
    hs_scratch_t* made = nullptr;
    EXPECT_EQ(hs_alloc_scratch(blockDatabase(), &made), HS_SUCCESS);
    return made;
  }();
  std::vector<Prefix> found;
  const auto take = [](unsigned id, unsigned long long, unsigned long long to, unsigned, void* context) {
    static_cast<std::vector<Prefix>*>(context)->push_back({static_cast<std::size_t>(to), id});
    return 0;
  };
  EXPECT_EQ(
      hs_scan(blockDatabase(), text.data(), static_cast<unsigned>(text.size()), 0, scratch, take, &found),
      HS_SUCCESS);
  return found;
}

std::vector<Prefix> prefixesOf(const Text& text, bool gaps) {
  std::set<Prefix> all;
  std::string lines;
  std::vector<std::size_t> at{0};  // text position of each prefix of `lines`
  for (std::size_t i = 0; i < text.bytes.size(); ++i) {
    if (text.breakBefore[i] != Break::kNone) {
      lines += '\n';
      at.push_back(i);
    }
    lines += text.bytes[i];
    at.push_back(i + 1);
  }
  if (!gaps) lines.insert(0, "\n"), at.insert(at.begin(), 0);
  for (const Prefix& prefix : findPrefixes(lines)) all.insert({at[prefix.end], prefix.shape});
  if (gaps) {
    for (const Prefix& prefix : findPrefixes(text.bytes)) all.insert(prefix);
  }
  return {all.begin(), all.end()};
}

double entropyOf(std::string_view bytes) {
  std::map<char, double> count;
  for (const char c : bytes) ++count[c];
  double entropy = 0;
  for (const auto& [c, n] : count) {
    const double share = n / static_cast<double>(bytes.size());
    entropy -= share * std::log2(share);
  }
  return entropy;
}

bool endsInTail(std::string_view bytes, std::string_view tail) {
  const auto matches = [&](std::string_view text) {
    if (text.size() < tail.size()) return false;
    text.remove_prefix(text.size() - tail.size());
    for (std::size_t i = 0; i < tail.size(); ++i) {
      if (tail[i] == '9' ? !(text[i] >= '0' && text[i] <= '9') : text[i] != tail[i]) return false;
    }
    return true;
  };
  const bool digit = !bytes.empty() && bytes.back() >= '0' && bytes.back() <= '9';
  return matches(bytes) || (tail.ends_with('9') && digit && matches(bytes.substr(0, bytes.size() - 1)));
}

void maskRange(Text& text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) text.masked[i] = true;
}

// Masks the body of `shape` that begins at `from`; returns where it ends.
std::size_t maskBody(Text& text, const Shape& shape, std::size_t from, bool isOpenAtEnd) {
  const std::size_t size = text.bytes.size();
  const auto view = [&](std::size_t end) { return std::string_view(text.bytes).substr(from, end - from); };
  bool secret = false;
  bool digit = false;
  bool dot = false;
  std::size_t i = from;
  const auto cap = shape.kind == ShapeKind::kEntropy ? std::size_t{150} : std::size_t{1024};
  for (; i < size; ++i) {
    const Break gap = text.breakBefore[i];
    if (gap == Break::kNarrow && (secret || shape.kind != ShapeKind::kRun || i == from)) break;
    if (!contains(secret ? shape.wide : shape.narrow, text.bytes[i])) break;
    if (secret) continue;
    digit = digit || (text.bytes[i] >= '0' && text.bytes[i] <= '9');
    dot = dot || text.bytes[i] == '.';
    const std::size_t count = i + 1 - from;
    const bool has = shape.needs == Needs::kDigit ? digit : shape.needs == Needs::kDot ? dot : true;
    if (shape.kind == ShapeKind::kRun) secret = (count >= shape.min && has) || count >= cap;
    if (count >= cap && shape.kind != ShapeKind::kRun) {
      if (shape.kind != ShapeKind::kEntropy || entropyOf(view(i + 1)) < 3.5) return i;
      secret = true;
    }
  }
  const bool full = i - from >= shape.min;
  const bool ended = i < size && text.breakBefore[i] != Break::kNarrow;
  if (shape.kind == ShapeKind::kEntropy && !secret) secret = full && entropyOf(view(i)) >= 3.5;
  if (shape.kind == ShapeKind::kPassword) secret = full && ended && text.bytes[i] == '@';
  if (shape.kind == ShapeKind::kTail) secret = full && endsInTail(view(i), shape.tail);
  // Output that stops inside a token with a distinctive prefix.
  if (shape.kind == ShapeKind::kRun && !secret && isOpenAtEnd && i == size && shape.safe == 0) {
    secret = i > from || text.breakAtEnd != Break::kNarrow;
  }
  if (secret) maskRange(text, from, i);
  return i;
}

std::size_t maskPem(Text& text, std::size_t from) {
  const std::size_t size = text.bytes.size();
  const std::size_t close = text.bytes.find("-----END", from);
  const std::size_t headerEnd = std::min({size, from + 16, close == std::string::npos ? size : close + 8});
  std::size_t header = from;
  while (header < headerEnd && text.breakBefore[header] == Break::kNone) {
    if (std::string_view("\"'`)(;{}$&").find(text.bytes[header]) != std::string_view::npos) {
      maskRange(text, from, header);
      return header;
    }
    ++header;
  }
  const std::size_t bound = std::min(size, from + ShapeTracker::kPemLimit);
  std::size_t end = bound;
  if (close != std::string::npos && close + 8 <= bound) {
    std::size_t dashes = 0;
    for (end = close + 8; end < bound && dashes < 5; ++end) {
      if (text.breakBefore[end] != Break::kNone) break;
      dashes = text.bytes[end] == '-' ? dashes + 1 : 0;
    }
    if (dashes < 5 && end == bound && bound == size && text.breakAtEnd != Break::kNone) {
      maskRange(text, from, end);
      for (std::size_t i = from; i < end; ++i) text.pemBefore[i] = true;
      return end;  // the gap after an END line without dashes is shown
    }
    if (dashes == 5 || end < bound) {
      maskRange(text, from, end);
      for (std::size_t i = from; i < end; ++i) text.pemBefore[i] = true;
      return end;
    }
  }
  maskRange(text, from, end);
  for (std::size_t i = from; i < end; ++i) text.pemBefore[i] = true;
  if (end == size && end < from + ShapeTracker::kPemLimit) text.pemAtEnd = true;
  return end;
}

unsigned pemShape() {
  const auto all = shapes();
  const auto is = [](const Shape& shape) { return shape.kind == ShapeKind::kPem; };
  return static_cast<unsigned>(std::find_if(all.begin(), all.end(), is) - all.begin());
}

void maskShapes(Text& text, bool gaps, bool isOpenAtEnd) {
  std::map<unsigned, std::size_t> activeUntil;  // by shape: a prefix that ends inside a body begins none
  const std::vector<Prefix> prefixes = prefixesOf(text, gaps);
  std::set<std::size_t> directories;
  for (const Prefix& prefix : prefixes) {
    if (shapes()[prefix.shape].kind == ShapeKind::kDirectory) directories.insert(prefix.end);
  }
  auto headless = text.headless.begin();
  const auto continueKeys = [&](std::size_t before) {
    for (; headless != text.headless.end() && headless->first < before;) {
      std::size_t& until = activeUntil[pemShape()];
      if (headless->first < until || text.pemAtEnd) {
        headless = text.headless.erase(headless);  // inside of a key already
      } else {
        until = maskPem(text, headless++->first);
      }
    }
  };
  for (const Prefix& prefix : prefixes) {
    if (!gaps && prefix.end > text.own + 40) continue;  // the text's own lane finds these
    const Shape& shape = shapes()[prefix.shape];
    if (shape.kind == ShapeKind::kDirectory) continue;
    if (shape.kind == ShapeKind::kPem) continueKeys(prefix.end);
    const auto active = activeUntil.find(prefix.shape);
    if (active != activeUntil.end() && prefix.end <= active->second) continue;
    if (shape.kind == ShapeKind::kEntropy && directories.contains(prefix.end) &&
        text.bytes.substr(prefix.end, 1) == "/") {
      continue;
    }
    activeUntil[prefix.shape] = shape.kind == ShapeKind::kPem
                                    ? maskPem(text, prefix.end)
                                    : maskBody(text, shape, prefix.end, isOpenAtEnd);
  }
  continueKeys(text.bytes.size() + 1);
}

std::string projectionOf(std::string_view form) {
  std::string out;
  const std::vector<ByteClass> classes = classify(form, 0);
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (classes[i] == ByteClass::kText) out += form[i];
  }
  return out;
}

void maskKnown(Text& text, const std::vector<std::string>& secrets, bool isOpenAtEnd) {
  std::size_t open = 0;
  for (const std::string& secret : secrets) {
    for (const auto& form : encodedForms(secret)) {
      const std::string pattern = projectionOf({form.data(), form.size()});
      if (pattern.size() < KnownSecrets::kMinBytes) continue;
      for (std::size_t at = text.bytes.find(pattern); at != std::string::npos;
           at = text.bytes.find(pattern, at + 1)) {
        maskRange(text, at, at + pattern.size());
      }
      for (std::size_t n = std::min(pattern.size() - 1, text.bytes.size()); n > open; --n) {
        if (text.bytes.ends_with(pattern.substr(0, n))) open = n;
      }
    }
  }
  // Output that stops inside a value.
  if (isOpenAtEnd && open > Masker::kSafeKnownBytes) {
    maskRange(text, text.bytes.size() - open + Masker::kSafeKnownBytes, text.bytes.size());
  }
}

struct Stream {
  std::string bytes;
  std::vector<ByteClass> classes;
  Text main;
  std::vector<Text> sequences;
};

void take(Stream& stream, char byte, ByteClass byteClass) {
  const std::size_t at = stream.bytes.size();
  stream.bytes += byte;
  stream.classes.push_back(byteClass);
  const bool gap = byteClass == ByteClass::kGapWide || byteClass == ByteClass::kGapNarrow;
  if (!stream.sequences.empty() &&
      (gap || byteClass == ByteClass::kSequenceStart || byteClass == ByteClass::kSequenceEnd)) {
    Text& sequence = stream.sequences.back();
    if (gap && !sequence.closed) {
      sequence.breakAtEnd = Break::kNarrow;
      sequence.cutAt = {stream.main.bytes.size(), at};
    }
    sequence.closed = true;
  }
  const auto append = [&](Text& text) {
    text.bytes += byte;
    text.raw.push_back(at);
    text.breakBefore.push_back(std::exchange(text.breakAtEnd, Break::kNone));
  };
  switch (byteClass) {
    case ByteClass::kText:
      append(stream.main);
      if (!stream.sequences.empty() && !stream.sequences.back().closed) append(stream.sequences.back());
      break;
    case ByteClass::kGapWide:
      if (stream.main.breakAtEnd == Break::kNone) stream.main.breakAtEnd = Break::kWide;
      break;
    case ByteClass::kGapNarrow:
      stream.main.breakAtEnd = Break::kNarrow;
      break;
    case ByteClass::kSequenceStart:
      stream.sequences.emplace_back();
      break;
    case ByteClass::kSequence:
      append(stream.sequences.back());
      stream.sequences.back().own = stream.sequences.back().bytes.size();
      break;
    case ByteClass::kSequenceEnd:
    case ByteClass::kPass:
      break;
  }
}

void judge(Text& text, const std::vector<std::string>& secrets, bool gaps, bool isOpenAtEnd) {
  text.masked.assign(text.bytes.size(), false);
  text.pemBefore.assign(text.bytes.size(), false);
  maskKnown(text, secrets, isOpenAtEnd);
  maskShapes(text, gaps, isOpenAtEnd);
}

std::string render(const Stream& stream) {
  std::map<std::size_t, bool> masked;
  std::vector<bool> dropped(stream.bytes.size(), false);
  const auto note = [&](const Text& text) {
    for (std::size_t i = 0; i < text.bytes.size(); ++i)
      masked[text.raw[i]] = masked[text.raw[i]] || text.masked[i];
  };
  note(stream.main);
  for (const Text& text : stream.sequences) note(text);
  // Gaps inside a PEM body.
  std::size_t next = 0;
  for (std::size_t i = 0; i < stream.bytes.size(); ++i) {
    while (next < stream.main.raw.size() && stream.main.raw[next] < i) ++next;
    const bool inside = next < stream.main.raw.size() ? stream.main.pemBefore[next] : stream.main.pemAtEnd;
    const bool gap = stream.classes[i] == ByteClass::kGapNarrow || stream.classes[i] == ByteClass::kGapWide;
    const auto headless = stream.main.headless.find(next);
    const bool beforeKey = headless != stream.main.headless.end() && i < headless->second;
    dropped[i] = gap && inside && !beforeKey;
  }
  std::string out;
  bool run[2] = {false, false};
  for (std::size_t i = 0; i < stream.bytes.size(); ++i) {
    if (dropped[i]) continue;
    const ByteClass byteClass = stream.classes[i];
    if (byteClass == ByteClass::kText || byteClass == ByteClass::kSequence) {
      bool& open = run[byteClass == ByteClass::kText ? 0 : 1];
      if (masked[i]) {
        if (!open) out += "[masked]";
        open = true;
        continue;
      }
      open = false;
    }
    if (byteClass == ByteClass::kGapNarrow || byteClass == ByteClass::kGapWide) run[0] = false;
    out += stream.bytes[i];
  }
  return out;
}

}  // namespace

std::string oracleMask(std::string_view raw, const std::vector<std::string>& secrets, unsigned columns) {
  Stream stream;
  const std::vector<ByteClass> classes = classify(raw, columns);
  for (std::size_t i = 0; i < raw.size(); ++i) take(stream, raw[i], classes[i]);
  for (Text& text : stream.sequences) {
    judge(text, secrets, false, !text.closed);
    if (text.pemAtEnd && text.cutAt) stream.main.headless.insert(*text.cutAt);
  }
  judge(stream.main, secrets, true, true);
  return render(stream);
}

std::string withoutLabels(std::string_view masked) {
  constexpr std::string_view kOpen = "[masked:";
  std::string out;
  while (!masked.empty()) {
    if (masked.starts_with(kOpen)) {
      out += "[masked]";
      masked.remove_prefix(masked.find(']') + 1);
    } else {
      out += masked.front();
      masked.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace factionos::redaction::testing
