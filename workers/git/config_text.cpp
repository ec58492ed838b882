#include "workers/git/config_text.h"

#include <algorithm>
#include <charconv>

namespace factionos::git {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}
bool isAlpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool isKey(char c) {
  return isAlpha(c) || (c >= '0' && c <= '9') || c == '-';
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  std::optional<std::vector<ConfigEntry>> run() {
    while (skipToNext()) {
      const bool read = text_[at_] == '[' ? section() : variable();
      if (!read || entries_.size() > kMostConfigEntries) return std::nullopt;
    }
    return std::move(entries_);
  }

 private:
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char now() const { return done() ? '\n' : text_[at_]; }

  bool skipToNext() {
    while (!done()) {
      if (isBlank(now()) || now() == '\n') {
        ++at_;
      } else if (now() == '#' || now() == ';') {
        while (!done() && now() != '\n') ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  void skipBlank() {
    while (!done() && isBlank(now())) ++at_;
  }

  // [name], [name.sub] in lower case, or [name "Sub"] as it is.
  bool section() {
    ++at_;
    section_.clear();
    while (!done() && (isKey(now()) || now() == '.')) section_ += lower(text_[at_++]);
    if (section_.empty()) return false;
    if (isBlank(now())) {
      skipBlank();
      if (now() != '"' || !subsection()) return false;
    }
    if (now() != ']') return false;
    ++at_;
    return true;
  }

  bool subsection() {
    section_ += '.';
    for (++at_; !done() && now() != '"'; ++at_) {
      if (now() == '\\') ++at_;
      if (now() == '\n' || now() == '\0') return false;
      section_ += now();
    }
    if (done()) return false;
    ++at_;
    return true;
  }

  bool variable() {
    if (section_.empty() || !isAlpha(now())) return false;
    ConfigEntry entry{section_ + ".", {}, false};
    while (!done() && isKey(now())) entry.key += lower(text_[at_++]);
    skipBlank();
    if (now() == '=') {
      ++at_;
      entry.hasValue = true;
      if (!value(entry.value)) return false;
    } else if (now() == '#' || now() == ';') {
      while (!done() && now() != '\n') ++at_;
    } else if (now() != '\n') {
      return false;
    }
    entries_.push_back(std::move(entry));
    return true;
  }

  bool value(std::string& out) {
    skipBlank();
    std::size_t meaningful = 0;  // without trailing blanks that stand outside of quotes
    bool quoted = false;
    for (; now() != '\n'; ++at_) {
      const char c = now();
      if (c == '\0') return false;
      if (!quoted && (c == '#' || c == ';')) {
        while (!done() && now() != '\n') ++at_;
        break;
      }
      if (c == '"') {
        quoted = !quoted;
        meaningful = out.size();
      } else if (c == '\\') {
        ++at_;
        if (!escaped(out)) return false;
        meaningful = out.size();
      } else {
        out += c;
        if (quoted || !isBlank(c)) meaningful = out.size();
      }
    }
    out.resize(meaningful);
    return !quoted;
  }

  bool escaped(std::string& out) {
    if (done()) return false;
    if (now() == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    switch (now()) {
      case '\n':
        return true;  // the line goes on
      case 'n':
        out += '\n';
        return true;
      case 't':
        out += '\t';
        return true;
      case 'b':
        out += '\b';
        return true;
      case '"':
      case '\\':
        out += now();
        return true;
      default:
        return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string section_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

std::optional<std::vector<ConfigEntry>> readConfigText(std::string_view text) {
  return Reader(text).run();
}

std::optional<bool> asBool(const ConfigEntry& entry) {
  if (!entry.hasValue) return true;
  std::string text;
  std::ranges::transform(entry.value, std::back_inserter(text), lower);
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off" || text.empty()) return false;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number != 0;
}

}  // namespace factionos::git
