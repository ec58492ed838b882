#include "workers/common/namespace_support.h"

#include <array>
#include <charconv>

namespace factionos::worker {
namespace {

constexpr std::array kOrder = {&sandbox::NamespaceSupport::user, &sandbox::NamespaceSupport::mount,
                               &sandbox::NamespaceSupport::pid,  &sandbox::NamespaceSupport::network,
                               &sandbox::NamespaceSupport::ipc,  &sandbox::NamespaceSupport::uts};

}  // namespace

std::string encode(const sandbox::NamespaceSupport& support) {
  std::string text;
  for (const auto member : kOrder) text += (text.empty() ? "" : ",") + std::to_string(support.*member);
  return text;
}

std::optional<sandbox::NamespaceSupport> parseNamespaceSupport(std::string_view text) {
  sandbox::NamespaceSupport support;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const auto member : kOrder) {
    if (member != kOrder.front() && (at == end || *at++ != ',')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, support.*member);
    if (error != std::errc() || support.*member < 0) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(support) : std::nullopt;
}

sandbox::Scopes scopesAboveCommands(const sandbox::NamespaceSupport& support) {
  const sandbox::Need need = support.mount == 0 ? sandbox::Need::kOff : sandbox::Need::kIfAvailable;
  return {need, need};
}

}  // namespace factionos::worker
