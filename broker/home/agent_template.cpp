#include "broker/home/agent_template.h"

#include <algorithm>
#include <filesystem>

#include "broker/home/config_parts.h"
#include "broker/home/label.h"

namespace factionos::home {
namespace {

constexpr std::string_view kWhere = "template.";
constexpr std::size_t kMaxArguments = 64;
constexpr std::size_t kMaxImage = 96;
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kTag = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

bool isOf(std::string_view text, std::string_view alphabet) {
  return text.find_first_not_of(alphabet) == std::string_view::npos;
}

// "name:tag" without a registry's port: a colon stands before the tag alone, so that no two readers split it
// differently. A digest is no name of a local build.
bool isImage(std::string_view text) {
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  const auto tag = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  if (name.empty() || text.size() > kMaxImage || !isOf(name, std::string(kLower) + "._/-")) return false;
  for (const std::string_view twice : {"//", "..", "/.", "./"}) {
    if (name.find(twice) != name.npos) return false;
  }
  const auto ends = [](char each) { return kLower.find(each) != kLower.npos; };
  if (!ends(name.front()) || !ends(name.back())) return false;
  return colon == text.npos || (!tag.empty() && isOf(tag, kTag) && tag.front() != '.' && tag.front() != '-');
}

bool isAbsolute(const std::string& path) {
  return path.starts_with('/') && path.size() > 1 && !path.ends_with('/') &&
         std::filesystem::path(path).lexically_normal() == path;
}

void readNames(const TomlReader& reader, const toml::table& table, AgentTemplate& made) {
  made.id = reader.needText(table, kWhere, "id");
  if (!isLabel(made.id)) reader.fail(table, kWhere, "id", "is no label", kLabelRule);
  if (auto image = reader.text(table, kWhere, "image")) made.image = *std::move(image);
  if (!isImage(made.image))
    reader.fail(table, kWhere, "image", "is no name of a local image",
                "write name or name:tag, such as factionos-isolated:latest");
  if (auto provider = reader.text(table, kWhere, "provider")) made.provider = *std::move(provider);
  if (!isLabel(made.provider)) reader.fail(table, kWhere, "provider", "is no label", kLabelRule);
  made.command = reader.texts(table, kWhere, "command");
  if (made.command.empty() || made.command.size() > kMaxArguments)
    reader.fail(table, kWhere, "command", "is missing, empty or longer than 64 words",
                "write it like [\"/usr/bin/agent\", \"--flag\"]");
  if (!isAbsolute(made.command.front()))
    reader.fail(table, kWhere, "command", "does not begin with an absolute path inside of the image",
                "write the program's full path first; no shell looks for it");
}

void readMounts(const TomlReader& reader, const toml::table& table, AgentTemplate& made) {
  using Worktree = AgentTemplate::Worktree;
  if (const auto worktree = reader.text(table, kWhere, "worktree")) {
    if (*worktree != "read-write" && *worktree != "read-only" && *worktree != "none")
      reader.fail(table, kWhere, "worktree", "is no such access",
                  "write \"read-write\", \"read-only\" or \"none\"");
    made.worktree = *worktree == "none"        ? Worktree::kNone
                    : *worktree == "read-only" ? Worktree::kReadOnly
                                               : Worktree::kReadWrite;
  }
  if (auto auth = reader.text(table, kWhere, "auth")) {
    if (!isAbsolute(*auth))
      reader.fail(table, kWhere, "auth", "must be an absolute path without . or .. in it",
                  "write the full path of a directory, without a slash at its end");
    made.auth = *std::move(auth);
  }
  made.mayReachOut = reader.flag(table, kWhere, "egress").value_or(false);
  made.browser = reader.flag(table, kWhere, "browser").value_or(false);
}

void readLimits(const TomlReader& reader, const toml::table& table, AgentTemplate& made) {
  constexpr std::uint64_t kDay = 24 * 60 * 60;
  const auto number = [&](std::string_view key, std::uint64_t least, std::uint64_t most, std::uint32_t& out) {
    if (const auto value = reader.number(table, kWhere, key, least, most))
      out = static_cast<std::uint32_t>(*value);
  };
  const auto seconds = [&](std::string_view key, std::chrono::seconds& out) {
    if (const auto value = reader.number(table, kWhere, key, 1, kDay))
      out = std::chrono::seconds(static_cast<std::int64_t>(*value));
  };
  number("memory_mib", 16, 65536, made.memoryMiB);
  number("cpu_percent", 1, 6400, made.cpuPercent);
  number("processes", 1, 32768, made.processes);
  number("tmp_mib", 1, 4096, made.temporaryMiB);
  seconds("timeout_seconds", made.timeout);
  seconds("max_timeout_seconds", made.maxTimeout);
  if (made.timeout > made.maxTimeout)
    reader.fail(table, kWhere, "timeout_seconds", "is longer than max_timeout_seconds",
                "raise the one or lower the other");
}

}  // namespace

void readTemplates(const TomlReader& reader, std::vector<AgentTemplate>& templates) {
  for (const toml::table* table : reader.tables(reader.root(), "template")) {
    reader.onlyKeys(
        *table, kWhere,
        {"id", "image", "command", "provider", "worktree", "auth", "browser", "egress", "memory_mib",
         "cpu_percent", "processes", "tmp_mib", "timeout_seconds", "max_timeout_seconds"});
    AgentTemplate made;
    readNames(reader, *table, made);
    readMounts(reader, *table, made);
    readLimits(reader, *table, made);
    made.line = table->source().begin.line;
    if (std::ranges::find(templates, made.id, &AgentTemplate::id) != templates.end())
      reader.fail(*table, kWhere, "id", "is used twice", "give each template its own id");
    if (templates.size() == kMaxTemplates)
      reader.fail(*table, kWhere, "id", "is one more than the 64 that there may be", "remove some");
    templates.push_back(std::move(made));
  }
}

}  // namespace factionos::home
