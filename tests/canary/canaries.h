#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "broker/redaction/boundary.h"

namespace factionos::test {

using redaction::Boundary;
using redaction::Category;

// Where bytes were found: at a boundary of the redaction matrix, in a place that is there to show `shows` and
// nothing else. What is not in both the matrix and the list may not stand there.
struct Place {
  Boundary boundary;
  std::vector<Category> shows;

  bool mayHold(Category category) const;
};

// Values that are planted, and looked for everywhere. Thirty lower-case letters and digits each, with a tag
// of this process at their head: they pass as a label, a name and an id, so that nothing stops them at the
// door for their looks, and a piece of one is known for what it is.
class Canaries {
 public:
  static constexpr std::size_t kLength = 30;

  Canaries();

  std::string plant(Category category, std::string origin);
  // A value that exists anyway: a token, a path.
  void know(Category category, std::string value, std::string origin);

  // One line for each that stands where it may not, in pieces too; also other letter cases, and hex, base64
  // and UTF-16 of the tag, which nothing may show anywhere.
  std::vector<std::string> misplaced(std::string_view bytes, const Place& place) const;
  std::size_t planted() const;
  const std::string& tag() const { return tag_; }

 private:
  struct Planted {
    Category category;
    std::string origin;
  };
  // A terminal's output is looked at while it comes, so a canary may end early where it may stand whole.
  bool mayBeCut(std::string_view piece, const Place& place) const;
  void judgePlain(std::string_view bytes, const Place& place, std::vector<std::string>& found) const;
  void judgeDisguised(std::string_view bytes, std::vector<std::string>& found) const;

  std::string tag_;
  std::vector<std::string> disguises_;
  mutable std::mutex mutex_;
  std::map<std::string, Planted, std::less<>> canaries_;
  std::map<std::string, Planted, std::less<>> known_;
};

}  // namespace factionos::test
