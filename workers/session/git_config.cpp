#include "workers/session/git_config.h"

#include <algorithm>
#include <cctype>

namespace factionos::session {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool equalsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// Reads one configuration file from front to back.
class Reader {
 public:
  // git takes a byte order mark at the beginning for nothing.
  explicit Reader(std::string_view text) : text_(text) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  GitConfig run() {
    while (!done()) {
      skipBlank();
      if (done()) break;
      if (text_[at_] == '[') {
        readSection();
      } else if (text_[at_] == '#' || text_[at_] == ';') {
        skipLine();
      } else if (text_[at_] == '\n') {
        ++at_;
      } else {
        readVariable();
      }
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  void skipBlank() {
    while (!done() && isBlank(text_[at_])) ++at_;
  }
  void skipLine() {
    while (!done() && text_[at_] != '\n') ++at_;
  }

  // [name] or [name "subsection"], in whose quotes anything may stand. A variable may follow on the same
  // line.
  void readSection() {
    const std::size_t begin = ++at_;
    while (!done() && text_[at_] != ']' && text_[at_] != '\n' && text_[at_] != '"') ++at_;
    std::string_view name = text_.substr(begin, at_ - begin);
    while (!name.empty() && isBlank(name.front())) name.remove_prefix(1);
    while (!name.empty() && isBlank(name.back())) name.remove_suffix(1);
    const bool subsection = !done() && text_[at_] == '"';
    if (subsection) skipQuoted();
    while (!done() && text_[at_] != ']' && text_[at_] != '\n') ++at_;
    if (!done()) ++at_;
    isCore_ = !subsection && equalsIgnoringCase(name, "core");
    isInclude_ = equalsIgnoringCase(name, subsection ? "includeif" : "include");
  }

  void skipQuoted() {
    ++at_;
    while (!done() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2U : 1U;
    at_ = std::min(at_ + 1, text_.size());
  }

  void readVariable() {
    const std::size_t begin = at_;
    while (!done() && text_[at_] != '=' && text_[at_] != '\n') ++at_;
    std::string_view name = text_.substr(begin, at_ - begin);
    while (!name.empty() && isBlank(name.back())) name.remove_suffix(1);
    if (done() || text_[at_] == '\n') return;
    ++at_;
    std::string value = readValue();
    if (std::vector<std::string>* list = listOf(name); list != nullptr && !value.empty())
      list->push_back(std::move(value));
  }

  std::vector<std::string>* listOf(std::string_view name) {
    if (isCore_ && equalsIgnoringCase(name, "hookspath")) return &found_.hooksPaths;
    if (isCore_ && equalsIgnoringCase(name, "worktree")) return &found_.workTrees;
    if (isInclude_ && equalsIgnoringCase(name, "path")) return &found_.includes;
    return nullptr;
  }

  std::string readValue() {
    skipBlank();
    std::string value;
    std::size_t meaningful = 0;  // length without trailing blanks outside of quotes
    bool quoted = false;
    while (!done()) {
      const char c = text_[at_++];
      if (c == '\n') break;
      if (!quoted && (c == '#' || c == ';')) {
        skipLine();
        break;
      }
      if (c == '"') {
        quoted = !quoted;
        meaningful = value.size();
      } else if (c == '\\') {
        unescape(value);
        meaningful = value.size();
      } else {
        value.push_back(c);
        if (quoted || !isBlank(c)) meaningful = value.size();
      }
    }
    value.resize(meaningful);
    return value;
  }

  void unescape(std::string& value) {
    if (done()) return;
    const char c = text_[at_++];
    switch (c) {
      case '\n':
        return;  // the line goes on
      case 'n':
        value.push_back('\n');
        return;
      case 't':
        value.push_back('\t');
        return;
      case 'b':
        value.push_back('\b');
        return;
      default:
        value.push_back(c);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool isCore_ = false;
  bool isInclude_ = false;
  GitConfig found_;
};

}  // namespace

GitConfig readGitConfig(std::string_view text) {
  return Reader(text).run();
}

}  // namespace factionos::session
