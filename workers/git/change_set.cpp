#include "workers/git/change_set.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include <sys/stat.h>

#include "workers/git/names.h"
#include "workers/git/refusal.h"

namespace factionos::git {
namespace {

constexpr std::string_view kFirstLine = "factionos change 1 ";
constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
constexpr std::string_view kDigits = "0123456789ABCDEF";
constexpr std::string_view kNothing = "-";
constexpr std::string_view kIntended = "N";  // before the word of an entry's stage 0

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out.empty() || out == kNothing ? out + "%" : out;  // a lone % is nothing, so that no word is empty
}

std::optional<std::string> unescaped(std::string_view word) {
  if (word.ends_with('%')) word.remove_suffix(1);
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      out += word[i];
      continue;
    }
    if (i + 2 >= word.size()) return std::nullopt;
    const std::size_t high = kDigits.find(word[i + 1]);
    const std::size_t low = kDigits.find(word[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string wordOf(const FileState& state) {
  if (!state.there()) return std::string(kNothing);
  std::array<char, GIT_OID_HEXSZ + 1> hex{};
  git_oid_tostr(hex.data(), hex.size(), &state.id);
  return std::to_string(state.mode) + ":" + hex.data();
}

// As git stores them: a file, an executable one, a link, a submodule.
bool isMode(std::uint32_t mode) {
  return mode == 0100644 || mode == 0100755 || mode == 0120000 || mode == 0160000;
}

std::string wordsOf(const IndexState& state) {
  std::string text = " " + std::string(state.intended ? kIntended : "") + wordOf(state.stages[0]);
  for (std::size_t i = 1; i < 4; ++i) text += " " + wordOf(state.stages[i]);
  return text;
}

bool parse(std::string_view word, FileState& state) {
  if (word == kNothing) return true;
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos || word.size() != colon + 1 + GIT_OID_HEXSZ) return false;
  const auto [end, error] = std::from_chars(word.data(), word.data() + colon, state.mode);
  return error == std::errc() && end == word.data() + colon && isMode(state.mode) &&
         git_oid_fromstrn(&state.id, word.data() + colon + 1, GIT_OID_HEXSZ) == 0;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    found.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return found;
}

// A snapshot lies where others can write: what it names is checked as what a caller names.
template <typename Check>
bool passes(Check check) {
  try {
    return check();
  } catch (const Refusal&) {
    return false;
  }
}

bool isPath(const std::string& path) {
  return passes([&path]() { return !path.empty() && checkedPath(path) == path; });
}

bool isRef(const std::string& name) {
  return name == "HEAD" ||
         passes([&name]() { return name.starts_with("refs/") && !checkedRefName(name, "ref").empty(); });
}

// An object, a branch that is pointed at, or nothing.
bool isTarget(const std::string& target) {
  constexpr std::string_view kBranch = "ref: refs/heads/";
  if (target.starts_with(kBranch)) return isRef(target.substr(kBranch.find(' ') + 1));
  return target.empty() || (target.size() == GIT_OID_HEXSZ &&
                            target.find_first_not_of("0123456789abcdef") == std::string::npos);
}

bool parseWorktree(const std::vector<std::string>& texts, ChangeSet& set) {
  const bool add = texts[1] == "add";
  if (set.worktree || (!add && texts[1] != "remove")) return false;
  set.worktree = {add ? WorktreeEdit::What::kAdd : WorktreeEdit::What::kRemove, texts[2], texts[3], texts[4]};
  return passes([&texts]() { return !checkedWorktreeName(texts[2]).empty(); }) && isPath(texts[3]) &&
         isTarget(texts[4]);
}

bool parse(std::span<const std::string_view, 4> line, IndexState& state) {
  std::string_view first = line[0];
  state.intended = first.starts_with(kIntended);
  if (state.intended) first.remove_prefix(kIntended.size());
  if (!parse(first, state.stages[0]) || (state.intended && !state.stages[0].there())) return false;
  for (std::size_t i = 1; i < 4; ++i)
    if (!parse(line[i], state.stages[i])) return false;
  return true;
}

bool parseIndex(const std::vector<std::string_view>& line, ChangeSet& set) {
  if (line.size() != 10) return false;
  IndexEdit edit;
  const auto path = unescaped(line[1]);
  if (!path || !isPath(*path)) return false;
  edit.path = *path;
  const std::span<const std::string_view> states(line);
  if (!parse(states.subspan<2, 4>(), edit.before) || !parse(states.subspan<6, 4>(), edit.after)) return false;
  set.index.push_back(std::move(edit));
  return true;
}

bool parseLine(const std::vector<std::string_view>& line, ChangeSet& set) {
  if (line.size() < 2) return false;
  if (line[0] == "index") return parseIndex(line, set);
  std::vector<std::string> texts;
  for (const std::string_view word : line) {
    auto text = unescaped(word);
    if (!text) return false;
    texts.push_back(std::move(*text));
  }
  if (line[0] == "ref" && line.size() == 4) {
    set.refs.push_back({texts[1], texts[2], texts[3]});
    return isRef(texts[1]) && isTarget(texts[2]) && isTarget(texts[3]);
  }
  if (line[0] == "file" && line.size() == 4) {
    FileEdit edit{texts[1], {}, {}};
    const bool whole = isPath(edit.path) && parse(line[2], edit.before) && parse(line[3], edit.after);
    set.files.push_back(std::move(edit));
    return whole;
  }
  if (line[0] == "worktree" && line.size() == 5) return parseWorktree(texts, set);
  if (line[0] == "push" && line.size() == 5) {
    set.push = {texts[1], texts[2], texts[3], texts[4]};
    return passes([&texts]() { return !checkedRefName(texts[1], "remote").empty(); }) && isRef(texts[2]) &&
           isTarget(texts[3]) && isTarget(texts[4]);
  }
  return false;
}

}  // namespace

std::uint32_t canonicalMode(std::uint32_t mode) {
  if ((mode & S_IFMT) != S_IFREG) return mode;
  return (mode & S_IXUSR) != 0 ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
}

ChangeSet inverse(const ChangeSet& set, std::string operation) {
  ChangeSet other = set;
  other.operation = std::move(operation);
  for (FileEdit& file : other.files) std::swap(file.before, file.after);
  for (IndexEdit& entry : other.index) std::swap(entry.before, entry.after);
  for (RefEdit& ref : other.refs) std::swap(ref.before, ref.after);
  if (other.worktree) {
    const bool added = other.worktree->what == WorktreeEdit::What::kAdd;
    other.worktree->what = added ? WorktreeEdit::What::kRemove : WorktreeEdit::What::kAdd;
  }
  return other;
}

std::string encode(const ChangeSet& set) {
  std::string text = std::string(kFirstLine) + set.operation + "\n";
  for (const FileEdit& file : set.files)
    text += "file " + escaped(file.path) + " " + wordOf(file.before) + " " + wordOf(file.after) + "\n";
  for (const IndexEdit& entry : set.index) {
    text += "index " + escaped(entry.path);
    text += wordsOf(entry.before) + wordsOf(entry.after) + "\n";
  }
  for (const RefEdit& ref : set.refs)
    text += "ref " + escaped(ref.name) + " " + escaped(ref.before) + " " + escaped(ref.after) + "\n";
  if (set.worktree) {
    text += set.worktree->what == WorktreeEdit::What::kAdd ? "worktree add " : "worktree remove ";
    text += escaped(set.worktree->name) + " " + escaped(set.worktree->directory) + " " +
            escaped(set.worktree->head) + "\n";
  }
  if (set.push)
    text += "push " + escaped(set.push->remote) + " " + escaped(set.push->ref) + " " +
            escaped(set.push->before) + " " + escaped(set.push->after) + "\n";
  return text;
}

std::optional<ChangeSet> decode(std::string_view text) {
  if (!text.starts_with(kFirstLine) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  ChangeSet set;
  set.operation = text.substr(0, text.find('\n'));
  text.remove_prefix(set.operation.size() + 1);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    if (!parseLine(words(line), set)) return std::nullopt;
  }
  return set;
}

}  // namespace factionos::git
