#include "workers/file/line_diff.h"

#include <algorithm>
#include <vector>

namespace factionos::file {
namespace {

using Lines = std::vector<std::string_view>;  // each with its line feed, if it has one

constexpr std::size_t kContext = 3;

Lines linesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

enum class Kind : char { kSame = ' ', kGone = '-', kNew = '+' };
struct Edit {
  Kind kind;
  std::size_t before;  // index of the line in the one, or of where it would be
  std::size_t after;
};
using Script = std::vector<Edit>;

// Myers' greedy algorithm ("An O(ND) Difference Algorithm", 1986) over the lines that are left when the
// common beginning and end are taken off.
class Differ {
 public:
  Differ(const Lines& before, const Lines& after) : before_(before), after_(after) {}

  Script run() {
    std::size_t start = 0;
    const std::size_t least = std::min(before_.size(), after_.size());
    while (start < least && before_[start] == after_[start]) ++start;
    std::size_t tail = 0;
    while (tail < least - start && before_[before_.size() - 1 - tail] == after_[after_.size() - 1 - tail])
      ++tail;
    first_ = start;
    rows_ = before_.size() - start - tail;
    columns_ = after_.size() - start - tail;
    Script script;
    for (std::size_t i = 0; i < start; ++i) script.push_back({Kind::kSame, i, i});
    middle(script);
    for (std::size_t i = 0; i < tail; ++i)
      script.push_back({Kind::kSame, before_.size() - tail + i, after_.size() - tail + i});
    return script;
  }

 private:
  // furthest_[d][k + d]: how far down diagonal k `d` edits lead.
  void middle(Script& script) {
    const std::size_t most = std::min(rows_ + columns_, kMostEdits);
    for (std::size_t d = 0; d <= most; ++d) {
      furthest_.emplace_back(2 * d + 1);
      for (std::size_t index = 0; index <= 2 * d; index += 2) {
        const std::size_t row = advance(d, index);
        if (row == rows_ && columnOf(row, d, index) == columns_) return trace(script, d, index);
      }
    }
    replaceAll(script);
  }

  [[nodiscard]] std::size_t columnOf(std::size_t row, std::size_t d, std::size_t index) const {
    return row + d - index;  // column = row - k, k = index - d
  }

  // Whether the step that leads here inserts a line (a column more) or deletes one (a row more).
  [[nodiscard]] bool isInsertion(std::size_t d, std::size_t index) const {
    if (index == 0) return true;
    if (index == 2 * d) return false;
    return furthest_[d - 1][index - 2] < furthest_[d - 1][index];
  }

  [[nodiscard]] std::size_t startOf(std::size_t d, std::size_t index) const {
    if (d == 0) return 0;
    return isInsertion(d, index) ? furthest_[d - 1][index] : furthest_[d - 1][index - 2] + 1;
  }

  std::size_t advance(std::size_t d, std::size_t index) {
    std::size_t row = std::min(startOf(d, index), rows_ + 1);
    std::size_t column = columnOf(row, d, index);
    while (row < rows_ && column < columns_ && before_[first_ + row] == after_[first_ + column]) {
      ++row;
      ++column;
    }
    furthest_[d][index] = row;
    return row;
  }

  void trace(Script& script, std::size_t d, std::size_t index) const {
    Script backwards;
    std::size_t row = rows_;
    while (true) {
      const std::size_t start = startOf(d, index);
      while (row > start) {
        --row;
        backwards.push_back({Kind::kSame, first_ + row, first_ + columnOf(row, d, index)});
      }
      if (d == 0) break;
      const std::size_t column = columnOf(row, d, index);
      if (isInsertion(d, index)) {
        backwards.push_back({Kind::kNew, first_ + row, first_ + column - 1});
      } else {
        backwards.push_back({Kind::kGone, first_ + row - 1, first_ + column});
        --row;
        index -= 2;
      }
      --d;
    }
    script.insert(script.end(), backwards.rbegin(), backwards.rend());
  }

  void replaceAll(Script& script) const {
    for (std::size_t i = 0; i < rows_; ++i) script.push_back({Kind::kGone, first_ + i, first_});
    for (std::size_t i = 0; i < columns_; ++i) script.push_back({Kind::kNew, first_ + rows_, first_ + i});
  }

  const Lines& before_;
  const Lines& after_;
  std::size_t first_ = 0;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<std::vector<std::size_t>> furthest_;
};

std::string range(std::size_t first, std::size_t count) {
  // An empty range is named by the line before it.
  return std::to_string(count == 0 ? first : first + 1) + "," + std::to_string(count);
}

class Writer {
 public:
  Writer(const Lines& before, const Lines& after, std::size_t textBytes)
      : before_(before), after_(after), most_(textBytes) {}

  LineDiff run(const Script& script) {
    std::size_t next = 0;
    while (next < script.size()) {
      const auto changed = std::find_if(script.begin() + static_cast<std::ptrdiff_t>(next), script.end(),
                                        [](const Edit& edit) { return edit.kind != Kind::kSame; });
      if (changed == script.end()) break;
      const auto first = static_cast<std::size_t>(changed - script.begin());
      const std::size_t last = endOf(script, first);
      hunk(script, first - std::min(kContext, first - next), std::min(last + kContext, script.size()));
      next = std::min(last + kContext, script.size());
    }
    return std::move(diff_);
  }

 private:
  // One behind the last change of the hunk: changes that have at most twice the context between them share
  // it.
  static std::size_t endOf(const Script& script, std::size_t first) {
    std::size_t end = first;
    for (std::size_t i = first; i < script.size() && i <= end + 2 * kContext; ++i) {
      if (script[i].kind != Kind::kSame) end = i + 1;
    }
    return end;
  }

  void hunk(const Script& script, std::size_t first, std::size_t end) {
    ++diff_.hunks;
    std::size_t gone = 0;
    std::size_t fresh = 0;
    for (std::size_t i = first; i < end; ++i) {
      gone += script[i].kind != Kind::kNew ? 1U : 0U;
      fresh += script[i].kind != Kind::kGone ? 1U : 0U;
    }
    put("@@ -" + range(script[first].before, gone) + " +" + range(script[first].after, fresh) + " @@\n");
    for (std::size_t i = first; i < end; ++i) line(script[i]);
  }

  void line(const Edit& edit) {
    diff_.insertions += edit.kind == Kind::kNew ? 1U : 0U;
    diff_.deletions += edit.kind == Kind::kGone ? 1U : 0U;
    const std::string_view text = edit.kind == Kind::kNew ? after_[edit.after] : before_[edit.before];
    put(std::string(1, static_cast<char>(edit.kind)));
    put(text);
    if (!text.ends_with('\n')) put("\n\\ No newline at end of file\n");
  }

  void put(std::string_view text) {
    const std::size_t room = most_ - diff_.text.size();
    diff_.text.append(text.substr(0, room));
    diff_.droppedBytes += text.size() - std::min(room, text.size());
  }

  const Lines& before_;
  const Lines& after_;
  std::size_t most_;
  LineDiff diff_;
};

}  // namespace

LineDiff diffLines(std::string_view before, std::string_view after, std::size_t textBytes) {
  if (before.find('\0') != std::string_view::npos || after.find('\0') != std::string_view::npos) {
    LineDiff diff;
    diff.binary = true;
    return diff;
  }
  const Lines one = linesOf(before);
  const Lines other = linesOf(after);
  return Writer(one, other, textBytes).run(Differ(one, other).run());
}

}  // namespace factionos::file
