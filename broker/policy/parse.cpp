#include <algorithm>
#include <climits>
#include <cstdlib>

#include <sodium.h>

#include "broker/home/label.h"
#include "broker/home/toml_reader.h"
#include "broker/policy/policy.h"
#include "broker/policy/rule.h"

namespace factionos::policy {
namespace {

using home::TomlReader;

constexpr std::string_view kWhere = "rule.";
constexpr std::string_view kLabelOrAny = "write one name of 1 to 64 letters, digits and . _ - or \"*\"";

std::optional<Family> readFamily(const TomlReader& reader, const toml::table& table) {
  const std::string text = reader.needText(table, kWhere, "family");
  if (text == "*") return std::nullopt;
  const auto family = parseFamily(text);
  if (!family) {
    reader.fail(table, kWhere, "family", "is no family",
                "write file, git, terminal, container, remote, hosted or \"*\"");
  }
  return family;
}

std::string operationsOf(Family family) {
  std::string names;
  for (const Operation& operation : allOperations()) {
    if (operation.family == family) names.append(operation.name).append(", ");
  }
  return names;
}

OperationPattern readOperation(const TomlReader& reader, const toml::table& table,
                               std::optional<Family> family) {
  using Kind = OperationPattern::Kind;
  const std::string text = reader.needText(table, kWhere, "operation");
  if (text == "*") return {Kind::kAny, {}};
  if (text == label(Effect::kReadOnly)) return {Kind::kReadOnly, {}};
  if (text == label(Effect::kMutating)) return {Kind::kMutating, {}};
  if (!family) {
    reader.fail(table, kWhere, "operation", "is named while the family is \"*\"",
                "name the family too, or write \"read-only\", \"mutating\" or \"*\"");
  }
  const Operation* operation = findOperation(*family, text);
  if (operation == nullptr) {
    reader.fail(table, kWhere, "operation", "is no operation of this family",
                "use " + operationsOf(*family) + "or read-only, mutating, *");
  }
  return {Kind::kOne, std::string(operation->name)};
}

ProgramPattern readProgram(const TomlReader& reader, const toml::table& table) {
  using Kind = ProgramPattern::Kind;
  const auto text = reader.text(table, kWhere, "program");
  if (!text || *text == "*") return {Kind::kAny, {}};
  if (*text == "sh") return {Kind::kShellLine, {}};
  if (*text == "workspace") return {Kind::kWorkspace, {}};
  if (!isProgramPath(*text) || text->find_first_of("*?[]{}") != std::string::npos) {
    reader.fail(
        table, kWhere, "program", "is neither an exact absolute path nor one of the words",
        "write the full path without patterns and without a slash at its end, or sh, workspace, \"*\"");
  }
  // Requests carry resolved paths: a rule that names a link would match nothing, and a deny would be passed
  // by.
  char resolved[PATH_MAX];
  if (::realpath(text->c_str(), resolved) != nullptr && *text != resolved) {
    reader.fail(table, kWhere, "program", "is reached through a symbolic link",
                "write the resolved path (readlink -f shows it)");
  }
  return {Kind::kPath, *text};
}

std::string readLabel(const TomlReader& reader, const toml::table& table, std::string_view key) {
  auto text = reader.text(table, kWhere, key);
  if (!text || *text == "*") return "*";
  if (!home::isLabel(*text)) reader.fail(table, kWhere, key, "is no label", kLabelOrAny);
  return *std::move(text);
}

std::string readNetwork(const TomlReader& reader, const toml::table& table) {
  auto text = reader.text(table, kWhere, "network");
  if (!text) return "*";
  if (*text != "*" && *text != "none" && *text != "loopback" && *text != "full" && *text != "egress") {
    reader.fail(table, kWhere, "network", "is no network profile",
                "write none, loopback, full, egress or \"*\"");
  }
  return *std::move(text);
}

Verdict readVerdict(const TomlReader& reader, const toml::table& table) {
  const std::string text = reader.needText(table, kWhere, "decision");
  for (const Verdict verdict : {Verdict::kAllow, Verdict::kAsk, Verdict::kDeny}) {
    if (text == label(verdict)) return verdict;
  }
  reader.fail(table, kWhere, "decision", "is no decision", "write allow, ask or deny");
}

Rule readRule(const TomlReader& reader, const toml::table& table) {
  reader.onlyKeys(table, kWhere,
                  {"family", "operation", "workspace", "principal", "program", "network", "profile",
                   "decision", "reason", "until"});
  Rule rule;
  rule.line = table.source().begin.line;
  rule.family = readFamily(reader, table);
  rule.operation = readOperation(reader, table, rule.family);
  rule.workspace = readLabel(reader, table, "workspace");
  rule.principal = readLabel(reader, table, "principal");
  rule.program = readProgram(reader, table);
  rule.network = readNetwork(reader, table);
  rule.profile = readLabel(reader, table, "profile");
  rule.verdict = readVerdict(reader, table);
  rule.reason = reader.text(table, kWhere, "reason", kMaxReasonBytes).value_or("");
  rule.until = reader.time(table, kWhere, "until");
  if (rule.until && rule.verdict != Verdict::kAllow) {
    // An end of a deny or of an ask would widen what is allowed without anybody deciding so.
    reader.fail(table, kWhere, "until", "belongs to allow alone", "remove it");
  }
  if (rule.verdict == Verdict::kAllow && !rule.until && rule.reachesMutations()) {
    reader.fail(table, kWhere, "decision", "allows what changes things and names no end",
                "add until = with a date and time, or write ask");
  }
  return rule;
}

std::array<std::uint8_t, 32> digestOf(const std::vector<Rule>& rules) {
  if (::sodium_init() < 0) throw std::runtime_error("libsodium can't be initialised");
  std::string content = "FactionOS policy v1\n";
  for (const Rule& rule : rules) content += rule.canonicalBytes();
  std::array<std::uint8_t, 32> digest{};
  ::crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(content.data()),
                       content.size(), nullptr, 0);
  return digest;
}

}  // namespace

Policy::Policy(std::vector<Rule> rules, Revision revision) : rules_(std::move(rules)), revision_(revision) {}
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
Policy::~Policy() = default;
std::size_t Policy::ruleCount() const {
  return rules_.size();
}

Result<Policy> Policy::parse(std::string_view text, const Revision& previous) {
  try {
    const TomlReader reader(kPolicyFile, text);
    reader.onlyKeys(reader.root(), "", {"rule"});
    std::vector<Rule> rules;
    for (const toml::table* table : reader.tables(reader.root(), "rule")) {
      if (rules.size() == kMaxRules) {
        reader.fail(*table, "", "rule", "is one too many", "keep to 1024 rules");
      }
      rules.push_back(readRule(reader, *table));
    }
    Revision revision{previous.counter, digestOf(rules)};
    if (previous.counter == 0 || revision.digest != previous.digest) ++revision.counter;
    return Policy(std::move(rules), revision);
  } catch (const home::TomlError& error) {
    return error.problem;
  }
}

Result<Policy> Policy::load(const home::Home& home, const Revision& previous) {
  auto text = home.readFile(home::Folder::kTop, kPolicyFile, kMaxPolicyBytes);
  if (!text) {
    Problem problem = text.problem();
    if (problem.code == ProblemCode::kNotFound) {
      problem = {problem.code, "policy.toml is missing", "run: factionos init"};
    }
    return problem;
  }
  return parse(*text, previous);
}

}  // namespace factionos::policy
