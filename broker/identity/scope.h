#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace factionos::identity {

// What a principal may ask for. No scope implies another.
enum class Scope : std::uint8_t {
  kIngest,   // post hook events
  kRead,     // diagnostics, command center, own actions and sessions
  kPropose,  // guarded actions
  kApprove,  // decide actions of others; needs the operator's key in addition, always
  kAdmin,    // grants, tokens, policy; needs the operator's key in addition, always
};
inline constexpr std::array kAllScopes{Scope::kIngest, Scope::kRead, Scope::kPropose, Scope::kApprove,
                                       Scope::kAdmin};

const char* label(Scope scope);  // "ingest", "read", "propose", "approve", "admin"
std::optional<Scope> parseScope(std::string_view text);

class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  template <typename... Scopes>
  static constexpr ScopeSet of(Scopes... scopes) {
    ScopeSet set;
    (set.add(scopes), ...);
    return set;
  }

  constexpr void add(Scope scope) { bits_ = static_cast<std::uint8_t>(bits_ | bit(scope)); }
  constexpr bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const ScopeSet&) const = default;

  // "propose,read" in the order of the enum. `parse` wants 1 to 5 known, distinct names and nothing around
  // them.
  std::string text() const;
  static std::optional<ScopeSet> parse(std::string_view commaSeparated);

 private:
  static constexpr unsigned bit(Scope scope) { return 1U << static_cast<unsigned>(scope); }
  std::uint8_t bits_ = 0;
};

}  // namespace factionos::identity
