#include "workers/git/config_view.h"

#include <algorithm>
#include <array>
#include <utility>

namespace factionos::git {
namespace {

constexpr std::array<std::string_view, 16> kInertKeys = {
    "core.repositoryformatversion",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.abbrev",
    "core.trustctime",
    "core.checkstat",
    "user.name",
    "user.email",
    "init.defaultbranch",
};

struct InertVariable {
  std::string_view section;  // with a subsection of any name
  std::string_view variable;
};
constexpr std::array kInertVariables = {
    InertVariable{"remote", "url"},    InertVariable{"remote", "fetch"},  InertVariable{"remote", "pushurl"},
    InertVariable{"remote", "push"},   InertVariable{"branch", "remote"}, InertVariable{"branch", "merge"},
    InertVariable{"branch", "rebase"},
};

// What an extension means for us, as gitrepository-layout(5) names them.
enum class Extension { kHarmless, kWorktreeConfig, kSha1Only, kFilesOnly };
constexpr std::array<std::pair<std::string_view, Extension>, 7> kExtensions = {{
    {"noop", Extension::kHarmless},
    {"noop-v1", Extension::kHarmless},
    {"preciousobjects", Extension::kHarmless},    // about gc, which is not done here
    {"relativeworktrees", Extension::kHarmless},  // relative paths are resolved in any case
    {"worktreeconfig", Extension::kWorktreeConfig},
    {"objectformat", Extension::kSha1Only},
    {"refstorage", Extension::kFilesOnly},
}};

void judgeExtension(std::string_view name, const ConfigEntry& entry, ConfigView& view) {
  if (name == "partialclone") throw repositoryRefused("partial_clone");
  const auto* known = std::ranges::find(kExtensions, name, &std::pair<std::string_view, Extension>::first);
  if (known == kExtensions.end()) throw repositoryRefused("unknown_extension");
  switch (known->second) {
    case Extension::kHarmless:
      return;
    case Extension::kWorktreeConfig:
      view.worktreeConfig = asBool(entry).value_or(false);
      return;
    case Extension::kSha1Only:
      if (entry.value != "sha1") throw repositoryRefused("object_format");
      return;
    case Extension::kFilesOnly:
      if (entry.value == "reftable") throw repositoryRefused("reftable");
      if (entry.value != "files") throw repositoryRefused("ref_storage");
      return;
  }
}

void judge(const ConfigEntry& entry, Kind kind, ConfigView& view) {
  const std::string_view key = entry.key;
  if (key == "core.repositoryformatversion" && entry.value != "0" && entry.value != "1")
    throw repositoryRefused("format_version");
  if (key == "core.bare") view.bare = asBool(entry).value_or(true);
  if (kind == Kind::kMain && view.bare) throw repositoryRefused("bare");
  if (kind == Kind::kMain && key == "core.worktree") view.worktree = entry.value;
  if (key == "core.logallrefupdates")
    view.logs = entry.value == "always" ? "always" : asBool(entry).value_or(true) ? "true" : "false";
  if (key == "index.sparse" && asBool(entry).value_or(true)) throw repositoryRefused("sparse_index");
  constexpr std::string_view kPrefix = "extensions.";
  if (key.starts_with(kPrefix)) judgeExtension(key.substr(kPrefix.size()), entry, view);
  if (key.starts_with("remote.") && key.ends_with(".promisor") && asBool(entry).value_or(true))
    throw repositoryRefused("partial_clone");
}

}  // namespace

bool isInert(std::string_view key) {
  if (std::ranges::find(kInertKeys, key) != kInertKeys.end()) return true;
  const std::size_t first = key.find('.');
  const std::size_t last = key.rfind('.');
  if (first == std::string_view::npos || first == last) return false;
  return std::ranges::any_of(kInertVariables, [&](const InertVariable& each) {
    return key.substr(0, first) == each.section && key.substr(last + 1) == each.variable;
  });
}

ConfigView viewOf(const std::vector<ConfigEntry>& entries, Kind kind) {
  ConfigView view;
  for (const ConfigEntry& entry : entries) {
    judge(entry, kind, view);
    if (isInert(entry.key)) view.entries.push_back(entry);
  }
  // A repository can't talk libgit2 out of these.
  for (const char* key : {"core.protecthfs", "core.protectntfs"}) view.entries.push_back({key, "true", true});
  // Logs are written by RefWriter: libgit2 would follow a link in their place.
  view.entries.push_back({"core.logallrefupdates", "false", true});
  return view;
}

}  // namespace factionos::git
