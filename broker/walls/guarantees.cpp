#include "broker/walls/guarantees.h"

#include <algorithm>
#include <vector>

#include "broker/walls/rows.h"

namespace factionos::walls {
namespace {

using sandbox::verify::Guarantee;

std::string_view allowedToCommand(std::string_view profile, std::string_view id) {
  if (id.starts_with("files.")) return "write-workspace";
  if (id.starts_with("processes.")) return "end-own-child";
  if (id.starts_with("sockets.") && profile == "command-loopback") return "talk-to-itself";
  if (id.starts_with("sockets.") && profile.starts_with("command-full")) return "connect-service";
  return "run-own";
}

// What must work in a profile, of the same kind where there is any, so that its refusals mean something.
std::string_view allowedIn(std::string_view profile, std::string_view id) {
  if (profile == "broker") return "write-home";
  if (profile == "session-running") return "read-proc";
  const bool writes = profile == "file" || profile == "git-write";
  if (writes && id.starts_with("files.")) return "write-workspace";
  return profile.starts_with("command") ? allowedToCommand(profile, id) : "write-line";
}

std::vector<Guarantee> expand() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (auto part : {fileRows(), processRows(), socketRows(), callRows(), resourceRows()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  std::vector<Guarantee> guarantees;
  for (const std::string_view profile : kAll) {
    for (const Row& row : rows) {
      if (std::ranges::find(row.profiles, profile) == row.profiles.end()) continue;
      const bool bound = profile == "command-loopback";
      guarantees.push_back({row.id, profile, row.promise, row.layer, bound ? kOptional : row.strength,
                            row.needs, bound ? Feature::kNetworkNamespace : Feature::kNone, row.forbidden,
                            allowedIn(profile, row.id)});
    }
  }
  return guarantees;
}

}  // namespace

std::span<const Guarantee> guarantees() {
  static const std::vector<Guarantee> all = expand();
  return all;
}

}  // namespace factionos::walls
