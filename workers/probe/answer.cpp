#include "workers/probe/answer.h"

#include <algorithm>

#include "workers/container/json_document.h"

namespace factionos::probe {
namespace {

constexpr std::string_view kProgram = "container";
constexpr std::string_view kService = "container-apiserver";
constexpr std::size_t kMostEntries = 16;
constexpr std::size_t kMostDigits = 4;

bool isVersion(std::string_view text) {
  std::size_t parts = 0;
  while (true) {
    const std::string_view part = text.substr(0, text.find('.'));
    const bool digits = std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    if (part.empty() || part.size() > kMostDigits || !digits) return false;
    ++parts;
    if (part.size() == text.size()) return parts >= 2 && parts <= 4;
    text.remove_prefix(part.size() + 1);
  }
}

}  // namespace

std::optional<Versions> readVersions(std::string_view printed) {
  const container::JsonDocument document(printed);
  const auto entries = container::elementsOf(document.root());
  if (entries.empty() || entries.size() > kMostEntries) return std::nullopt;
  Versions found;
  for (const container::Element entry : entries) {
    const auto name = container::textOf(container::member(entry, "appName"));
    const auto version = container::textOf(container::member(entry, "version"));
    if (!name || !version) return std::nullopt;
    if (*name == kService) found.serviceAnswers = !version->empty();
    if (*name != kProgram) continue;
    if (!found.program.empty() || !isVersion(*version)) return std::nullopt;
    found.program = *version;
  }
  if (found.program.empty()) return std::nullopt;
  return found;
}

}  // namespace factionos::probe
