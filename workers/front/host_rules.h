// Who may be addressed and from which web page: the walls against DNS rebinding and cross-site requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace factionos::front {

enum class HostVerdict : std::uint8_t {
  kAllowed,
  kMalformed,  // not host or host:port at all: 400
  kRefused     // well formed, and not ours: 403
};

enum class OriginVerdict : std::uint8_t {
  kSame,    // the page came from this very address
  kListed,  // allowed by configuration; gets CORS headers
  kRefused
};

class HostRules {
 public:
  // `hosts`: matched whole, with or without a port. `origins`: matched whole, "https://dash.example:8443".
  HostRules(std::vector<std::string> hosts, std::vector<std::string> origins);

  // `localhost`, `127.0.0.1` and `[::1]`, each with any port or none (tunnels change it), and what is listed.
  // No other spelling of a loopback address: odd literals are how such checks were passed by elsewhere
  // (CVE-2018-7160, CVE-2021-22884, CVE-2022-32212).
  [[nodiscard]] HostVerdict host(std::string_view value) const;

  // `host` is a Host that was allowed. "null" is refused.
  [[nodiscard]] OriginVerdict origin(std::string_view origin, std::string_view host) const;

 private:
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
};

}  // namespace factionos::front
