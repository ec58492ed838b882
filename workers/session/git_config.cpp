#include "workers/session/git_config.h"

#include <algorithm>
#include <cctype>

namespace factionos::session {
namespace {

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
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<std::string> run() {
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

  // [core] but not [core "sub"]. A variable may follow on the same line.
  void readSection() {
    const std::size_t end = text_.find_first_of("]\n", at_);
    std::string_view name = text_.substr(at_ + 1, end == std::string_view::npos ? end : end - at_ - 1);
    while (!name.empty() && isBlank(name.front())) name.remove_prefix(1);
    while (!name.empty() && isBlank(name.back())) name.remove_suffix(1);
    inCore_ = equalsIgnoringCase(name, "core");
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
  }

  void readVariable() {
    const std::size_t begin = at_;
    while (!done() && text_[at_] != '=' && text_[at_] != '\n') ++at_;
    std::string_view name = text_.substr(begin, at_ - begin);
    while (!name.empty() && isBlank(name.back())) name.remove_suffix(1);
    if (done() || text_[at_] == '\n') return;
    ++at_;
    std::string value = readValue();
    if (inCore_ && equalsIgnoringCase(name, "hookspath") && !value.empty())
      found_.push_back(std::move(value));
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
  bool inCore_ = false;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> hooksPaths(std::string_view text) {
  return Reader(text).run();
}

}  // namespace factionos::session
