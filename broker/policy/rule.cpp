#include "broker/policy/rule.h"

#include <algorithm>
#include <climits>
#include <filesystem>

namespace factionos::policy {
namespace {

bool matchesLabel(const std::string& pattern, const std::string& value) {
  return pattern == "*" || pattern == value;
}

void appendField(std::string& out, std::string_view field) {
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>((field.size() >> (8 * i)) & 0xff));
  out.append(field);
}

// Kinds and names share no spelling with paths, which begin with a slash.
std::string_view spelling(const OperationPattern& pattern) {
  switch (pattern.kind) {
    case OperationPattern::Kind::kAny:
      return "*";
    case OperationPattern::Kind::kReadOnly:
      return "read-only";
    case OperationPattern::Kind::kMutating:
      return "mutating";
    case OperationPattern::Kind::kOne:
      return pattern.name;
  }
  return "";
}

std::string_view spelling(const ProgramPattern& pattern) {
  switch (pattern.kind) {
    case ProgramPattern::Kind::kAny:
      return "*";
    case ProgramPattern::Kind::kShellLine:
      return "sh";
    case ProgramPattern::Kind::kWorkspace:
      return "workspace";
    case ProgramPattern::Kind::kPath:
      return pattern.path;
  }
  return "";
}

}  // namespace

bool OperationPattern::matches(const Operation& operation) const {
  switch (kind) {
    case Kind::kAny:
      return true;
    case Kind::kReadOnly:
      return operation.effect == Effect::kReadOnly;
    case Kind::kMutating:
      return operation.effect == Effect::kMutating;
    case Kind::kOne:
      return operation.name == name;
  }
  return false;
}

bool ProgramPattern::matches(const Program& program) const {
  switch (kind) {
    case Kind::kAny:
      return true;
    case Kind::kShellLine:
      return program.kind == Program::Kind::kShellLine;
    case Kind::kWorkspace:
      return program.kind == Program::Kind::kWorkspace;
    case Kind::kPath:
      return program.kind == Program::Kind::kSystem && program.path == path;
  }
  return false;
}

std::string_view Rule::mismatch(const Operation& wanted, const Subject& subject, Time now) const {
  if (family && *family != subject.family) return "family";
  if (!operation.matches(wanted)) return "operation";
  if (!matchesLabel(workspace, subject.workspace)) return "workspace";
  if (!matchesLabel(principal, subject.principal)) return "principal";
  if (!program.matches(subject.program)) return "program";
  if (!matchesLabel(network, subject.network)) return "network";
  if (!matchesLabel(profile, subject.profile)) return "profile";
  if (until && now >= *until) return "until";
  return {};
}

bool Rule::concerns(const Operation& wanted, std::string_view who, Time now) const {
  const bool ofFamily = !family || *family == wanted.family;
  const bool ended = until && now >= *until;
  return ofFamily && operation.matches(wanted) && (principal == "*" || principal == who) && !ended;
}

bool Rule::isForEverything() const {
  return workspace == "*" && program.kind == ProgramPattern::Kind::kAny && network == "*" && profile == "*";
}

bool Rule::reachesMutations() const {
  if (operation.kind == OperationPattern::Kind::kReadOnly) return false;
  const auto operations = allOperations();
  return std::any_of(operations.begin(), operations.end(), [this](const Operation& candidate) {
    const bool ofFamily = !family || *family == candidate.family;
    return ofFamily && candidate.effect == Effect::kMutating && operation.matches(candidate);
  });
}

std::string Rule::canonicalBytes() const {
  std::string out;
  appendField(out, family ? label(*family) : "*");
  appendField(out, spelling(operation));
  appendField(out, workspace);
  appendField(out, principal);
  appendField(out, spelling(program));
  appendField(out, network);
  appendField(out, profile);
  appendField(out, label(verdict));
  appendField(out, reason);
  appendField(out, until ? std::to_string(until->time_since_epoch().count()) : "");
  return out;
}

bool isProgramPath(std::string_view path) {
  const bool printable = std::all_of(path.begin(), path.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f;
  });
  return path.size() > 1 && path.size() < PATH_MAX && path.front() == '/' && path.back() != '/' &&
         printable &&
         std::filesystem::path(path).lexically_normal().native() ==
             path;  // as text: a path compares "//" as "/"
}

}  // namespace factionos::policy
