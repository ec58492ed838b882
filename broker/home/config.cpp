#include "broker/home/config.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "broker/home/config_parts.h"
#include "broker/home/label.h"

namespace factionos::home {
namespace {

constexpr std::size_t kMaxSocketPath = 107;  // sockaddr_un
constexpr std::size_t kMaxPath = 4095;       // PATH_MAX

bool isNormalAbsolute(const std::string& path) {
  return path.starts_with('/') && std::filesystem::path(path).lexically_normal() == path;
}

// "/srv/demo/" and "/srv/demo" name one directory and must not be told apart by any later comparison.
std::string withoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string absolutePath(const TomlReader& reader, const toml::table& table, std::string_view where,
                         std::string_view key, std::string value) {
  value = withoutTrailingSlash(std::move(value));
  if (!isNormalAbsolute(value)) {
    reader.fail(table, where, key, "must be an absolute path without . or .. in it", "write the full path");
  }
  return value;
}

bool isHostName(std::string_view text) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  return !text.empty() && text.size() <= 253 && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

bool isPort(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 1 && value <= 65535;
}

bool isHostWithPort(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return isHostName(text);
  return isHostName(text.substr(0, colon)) && isPort(text.substr(colon + 1));
}

bool isOrigin(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (text.starts_with(scheme)) return isHostWithPort(text.substr(scheme.size()));
  }
  return false;
}

void readListening(const TomlReader& reader, Config& config) {
  const toml::table& root = reader.root();
  if (auto text = reader.text(root, "", "listen")) {
    auto address = parseListenAddress(*text);
    if (!address) reader.fail(root, "", "listen", address.problem().message, address.problem().remedy);
    config.listen = *std::move(address);
  }
  config.allowedHosts = reader.texts(root, "", "allowed_hosts");
  config.allowedOrigins = reader.texts(root, "", "allowed_origins");
  if (!std::all_of(config.allowedHosts.begin(), config.allowedHosts.end(), isHostWithPort)) {
    reader.fail(root, "", "allowed_hosts", "holds something that is no host",
                "write lower-case names, exact, with or without a port");
  }
  if (!std::all_of(config.allowedOrigins.begin(), config.allowedOrigins.end(), isOrigin)) {
    reader.fail(root, "", "allowed_origins", "holds something that is no origin",
                "write scheme://host or scheme://host:port, lower case, exact, no path");
  }
}

void readMode(const TomlReader& reader, Config& config) {
  const toml::table& root = reader.root();
  if (auto text = reader.text(root, "", "mode")) {
    if (*text != "user" && *text != "system") {
      reader.fail(root, "", "mode", "is neither of the two modes", "write \"user\" or \"system\"");
    }
    config.mode = *text == "system" ? Mode::kSystem : Mode::kUser;
  }
  if (auto group = reader.text(root, "", "group")) {
    if (config.mode == Mode::kUser) {
      reader.fail(root, "", "group", "means nothing in user mode", "remove it, or set mode = \"system\"");
    }
    if (!isLabel(*group)) reader.fail(root, "", "group", "is no name of a group", kLabelRule);
    config.group = *std::move(group);
  }
}

void readWorkspaces(const TomlReader& reader, Config& config) {
  constexpr std::string_view kWhere = "workspace.";
  for (const toml::table* table : reader.tables(reader.root(), "workspace")) {
    reader.onlyKeys(*table, kWhere, {"name", "path"});
    WorkspaceEntry entry;
    entry.name = reader.needText(*table, kWhere, "name");
    if (!isLabel(entry.name)) reader.fail(*table, kWhere, "name", "is no label", kLabelRule);
    if (config.findWorkspace(entry.name) != nullptr) {
      reader.fail(*table, kWhere, "name", "is used twice", "give each workspace its own name");
    }
    entry.path = absolutePath(reader, *table, kWhere, "path", reader.needText(*table, kWhere, "path"));
    entry.line = table->source().begin.line;
    config.workspaces.push_back(std::move(entry));
  }
}

identity::ScopeSet readScopes(const TomlReader& reader, const toml::table& table) {
  identity::ScopeSet scopes;
  for (const std::string& name : reader.texts(table, "principal.", "scopes")) {
    const auto scope = identity::parseScope(name);
    if (!scope || scopes.has(*scope)) {
      reader.fail(table, "principal.", "scopes", "holds an unknown scope, or one twice",
                  "use ingest, read, propose, approve, admin");
    }
    scopes.add(*scope);
  }
  if (scopes.empty()) {
    reader.fail(table, "principal.", "scopes", "is empty or missing",
                "write it like [\"read\", \"propose\"]");
  }
  return scopes;
}

void readPrincipals(const TomlReader& reader, Config& config) {
  constexpr std::string_view kWhere = "principal.";
  constexpr std::uint64_t kMaxUid = 0xffff'fffeULL;  // the last one means "no uid" to the kernel
  for (const toml::table* table : reader.tables(reader.root(), "principal")) {
    reader.onlyKeys(*table, kWhere, {"name", "uid", "scopes"});
    if (config.mode == Mode::kUser) {
      reader.fail(*table, kWhere, "uid", "principals by uid belong to system mode",
                  "set mode = \"system\", or make a token with: factionos token create");
    }
    PrincipalEntry entry;
    entry.name = reader.needText(*table, kWhere, "name");
    if (!isLabel(entry.name)) reader.fail(*table, kWhere, "name", "is no label", kLabelRule);
    const auto uid = reader.number(*table, kWhere, "uid", 0, kMaxUid);
    if (!uid) reader.fail(*table, kWhere, "uid", "is missing", "add it to this table");
    entry.uid = static_cast<uid_t>(*uid);
    entry.scopes = readScopes(reader, *table);
    entry.line = table->source().begin.line;
    for (const PrincipalEntry& other : config.principals) {
      if (other.name != entry.name && other.uid != entry.uid) continue;
      reader.fail(*table, kWhere, other.name == entry.name ? "name" : "uid", "is used twice",
                  "list each uid once, under its own name");
    }
    config.principals.push_back(std::move(entry));
  }
}

void readLimits(const TomlReader& reader, Config& config) {
  const toml::table* table = reader.table(reader.root(), "limits");
  if (table == nullptr) return;
  constexpr std::string_view kWhere = "limits.";
  constexpr std::uint64_t kDay = 24 * 60 * 60;
  reader.onlyKeys(
      *table, kWhere,
      {"max_sessions", "max_waiting_actions", "command_timeout_seconds", "max_command_timeout_seconds",
       "output_cap_bytes", "approval_expiry_seconds", "idempotency_ttl_seconds"});
  Limits& limits = config.limits;
  const auto count = [&](std::string_view key, std::uint32_t most, std::uint32_t& out) {
    if (auto value = reader.number(*table, kWhere, key, 1, most)) out = static_cast<std::uint32_t>(*value);
  };
  const auto seconds = [&](std::string_view key, std::uint64_t least, std::uint64_t most,
                           std::chrono::seconds& out) {
    if (auto value = reader.number(*table, kWhere, key, least, most)) {
      out = std::chrono::seconds(static_cast<std::int64_t>(*value));
    }
  };
  count("max_sessions", 256, limits.maxSessions);
  count("max_waiting_actions", 1024, limits.maxWaitingActions);
  seconds("command_timeout_seconds", 1, kDay, limits.commandTimeout);
  seconds("max_command_timeout_seconds", 1, kDay, limits.maxCommandTimeout);
  seconds("approval_expiry_seconds", 1, kDay, limits.approvalExpiry);
  seconds("idempotency_ttl_seconds", 60, 30 * kDay, limits.idempotencyTtl);
  if (auto bytes = reader.number(*table, kWhere, "output_cap_bytes", 4096, 64 * 1024 * 1024)) {
    limits.outputCapBytes = *bytes;
  }
  if (limits.commandTimeout > limits.maxCommandTimeout) {
    reader.fail(*table, kWhere, "command_timeout_seconds", "is longer than max_command_timeout_seconds",
                "raise the one or lower the other");
  }
}

void readProfile(const TomlReader& reader, Config& config) {
  const toml::table* table = reader.table(reader.root(), "profile");
  if (table == nullptr) return;
  reader.onlyKeys(*table, "profile.", {"program_dirs", "readable_dirs"});
  const auto paths = [&](std::string_view key) {
    std::vector<std::string> found = reader.texts(*table, "profile.", key);
    for (std::string& path : found) path = absolutePath(reader, *table, "profile.", key, std::move(path));
    return found;
  };
  config.profile.programDirs = paths("program_dirs");
  config.profile.readableDirs = paths("readable_dirs");
}

void readEngines(const TomlReader& reader, Config& config) {
  const toml::table* table = reader.table(reader.root(), "engines");
  if (table == nullptr) return;
  reader.onlyKeys(*table, "engines.", {"docker", "podman", "apple"});
  const auto path = [&](std::string_view key, std::string& out) {
    auto text = reader.text(*table, "engines.", key);
    if (text && !text->empty()) out = absolutePath(reader, *table, "engines.", key, *std::move(text));
  };
  const auto socket = [&](std::string_view key, std::string& out) {
    path(key, out);
    if (out.size() > kMaxSocketPath)
      reader.fail(*table, "engines.", key, "is longer than a socket's path may be", "use at most 107 bytes");
  };
  socket("docker", config.engines.docker);
  socket("podman", config.engines.podman);
  path("apple", config.engines.apple);
  if (config.engines.apple.size() > kMaxPath)
    reader.fail(*table, "engines.", "apple", "is longer than a path may be", "use at most 4095 bytes");
}

void readAudit(const TomlReader& reader, Config& config) {
  const toml::table* table = reader.table(reader.root(), "audit");
  if (table == nullptr) return;
  reader.onlyKeys(*table, "audit.", {"anchor"});
  if (auto anchor = reader.text(*table, "audit.", "anchor"); anchor && !anchor->empty()) {
    if (anchor->ends_with('/')) {
      reader.fail(*table, "audit.", "anchor", "is a directory", "write the path of a file");
    }
    config.auditAnchor = absolutePath(reader, *table, "audit.", "anchor", *std::move(anchor));
  }
}

}  // namespace

Result<ListenAddress> parseListenAddress(std::string_view text) {
  const Problem refused{ProblemCode::kRefused, "must be a loopback address with a port",
                        "write 127.0.0.1:PORT or [::1]:PORT; other machines have no business here"};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refused;
  const std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host != "127.0.0.1" && host != "[::1]") return refused;
  ListenAddress address;
  address.host = host == "127.0.0.1" ? "127.0.0.1" : "::1";
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc{} || end != port.data() + port.size()) return refused;
  return address;
}

const WorkspaceEntry* Config::findWorkspace(std::string_view name) const {
  const auto found = std::find_if(workspaces.begin(), workspaces.end(),
                                  [name](const WorkspaceEntry& entry) { return entry.name == name; });
  return found == workspaces.end() ? nullptr : &*found;
}

const AgentTemplate* Config::findTemplate(std::string_view id) const {
  const auto found = std::ranges::find(templates, id, &AgentTemplate::id);
  return found == templates.end() ? nullptr : &*found;
}

Result<Config> parseConfig(std::string_view text) {
  try {
    const TomlReader reader(kConfigFile, text);
    reader.onlyKeys(reader.root(), "",
                    {"mode", "group", "listen", "allowed_hosts", "allowed_origins", "workspace", "principal",
                     "limits", "profile", "engines", "audit", "template"});
    Config config;
    readMode(reader, config);
    readListening(reader, config);
    readWorkspaces(reader, config);
    readPrincipals(reader, config);
    readLimits(reader, config);
    readProfile(reader, config);
    readEngines(reader, config);
    readAudit(reader, config);
    readTemplates(reader, config.templates);
    return config;
  } catch (const TomlError& error) {
    return error.problem;
  }
}

Result<Config> loadConfig(const Home& home) {
  auto text = home.readFile(Folder::kTop, kConfigFile, kMaxConfigBytes);
  if (!text) {
    Problem problem = text.problem();
    if (problem.code == ProblemCode::kNotFound) {
      problem = {problem.code, "config.toml is missing", "run: factionos init"};
    }
    return problem;
  }
  return parseConfig(*text);
}

}  // namespace factionos::home
