#include "broker/home/config.h"
#include "broker/home/label.h"

namespace factionos::home {
namespace {

// A basic string of TOML: what isn't printable never comes this far, quotes and backslashes are escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "\"";
}

}  // namespace

Status addWorkspace(const Home& home, std::string_view name, std::string_view path) {
  if (!isLabel(name))
    return Problem{ProblemCode::kInvalid, "the workspace's name is no label",
                   "use 1 to 64 letters, digits and . _ - and start with a letter or digit"};
  auto lock = home.lockForEditing();
  if (!lock) return lock.problem();
  auto text = home.readFile(Folder::kTop, kConfigFile, kMaxConfigBytes);
  if (!text) return text.problem();
  auto before = parseConfig(*text);
  if (!before) return before.problem();
  if (before->findWorkspace(name) != nullptr) {
    return Problem{ProblemCode::kExists, "there is a workspace of this name", "choose another name"};
  }
  std::string after = *text;
  if (!after.empty() && after.back() != '\n') after.push_back('\n');
  after += "\n[[workspace]]\nname = " + quoted(name) + "\npath = " + quoted(path) + "\n";
  if (after.size() > kMaxConfigBytes) {
    return Problem{ProblemCode::kInvalid, "config.toml would become too long",
                   "remove workspaces no longer in use"};
  }
  // Parsed as a whole before it replaces the file: a path that TOML can't carry, or workspaces written as an
  // inline list, stop here.
  auto parsed = parseConfig(after);
  if (!parsed) return parsed.problem();
  const WorkspaceEntry* added = parsed->findWorkspace(name);
  if (added == nullptr || added->path != path) {
    return Problem{ProblemCode::kInvalid, "the workspace's path does not survive being written",
                   "choose another path"};
  }
  return home.writeFile(Folder::kTop, kConfigFile, after, WriteMode::kReplace);
}

}  // namespace factionos::home
