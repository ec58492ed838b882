#include "workers/session/request.h"

#include <string>

#include <fcntl.h>

#include "workers/session/command_environment.h"

namespace factionos::session {
namespace {

constexpr unsigned kPaths = 64;  // of each kind
constexpr unsigned kVariables = 128;

std::vector<std::string> strings(capnp::List<capnp::Text>::Reader list) {
  std::vector<std::string> result;
  result.reserve(list.size());
  for (const capnp::Text::Reader text : list) result.emplace_back(text.begin(), text.size());
  return result;
}

std::optional<Network> networkOf(schema::NetworkProfile profile) {
  switch (profile) {
    case schema::NetworkProfile::UNSPECIFIED:
    case schema::NetworkProfile::NONE:
      return Network::kNone;
    case schema::NetworkProfile::LOOPBACK:
      return Network::kLoopback;
    case schema::NetworkProfile::FULL:
      return Network::kFull;
    case schema::NetworkProfile::EGRESS:
      break;  // of containers alone
  }
  return std::nullopt;
}

// Real paths, so that they mean the same wherever they are looked up. "/" would list everything.
std::optional<std::vector<std::string>> directories(capnp::List<capnp::Text>::Reader list) {
  std::vector<std::string> real;
  for (const std::string& path : strings(list)) {
    if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) return std::nullopt;
    const sandbox::Fd directory(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory) continue;
    std::string resolved = realPath(directory.get());
    if (resolved.size() <= 1) return std::nullopt;
    real.push_back(std::move(resolved));
  }
  return real;
}

}  // namespace

std::variant<Request, Denied> readRequest(schema::CommandSpec::Reader spec) {
  const Denied invalid{"request_invalid", "command_spec"};
  Request request;
  request.argv = strings(spec.getArgv());
  if (spec.hasShell()) request.shell = std::string(spec.getShell().begin(), spec.getShell().size());
  const std::optional<Network> network = networkOf(spec.getNetwork());
  if (!network || spec.getProgramPaths().size() > kPaths || spec.getReadPaths().size() > kPaths ||
      spec.getEnvironment().size() > kVariables)
    return invalid;
  request.network = *network;
  request.environment = strings(spec.getEnvironment());
  if (!profileVariables(request.environment)) return invalid;
  std::optional<std::vector<std::string>> programPaths = directories(spec.getProgramPaths());
  std::optional<std::vector<std::string>> readPaths = directories(spec.getReadPaths());
  if (!programPaths || !readPaths) return invalid;
  request.programPaths = std::move(*programPaths);
  request.readPaths = std::move(*readPaths);
  request.scratch = std::string(spec.getScratch().begin(), spec.getScratch().size());
  request.apiPort = spec.getApiPort();
  request.namespaces = spec.getHasMountNamespace() ? Namespaces::kWherePossible : Namespaces::kForbidden;
  if (request.network == Network::kLoopback && request.namespaces == Namespaces::kForbidden) {
    return Denied{"sandbox_unavailable", "loopback_needs_network_namespace"};
  }
  return request;
}

void describe(const Prepared& prepared, schema::Prepared::Builder result) {
  result.setProgram(prepared.program.c_str());
  result.setProgramLabel(prepared.label.c_str());
  result.setInteractive(prepared.interactive == Interactive::kYes);
  auto digests = result.initDigests(static_cast<unsigned>(prepared.covered.size()));
  for (unsigned i = 0; i < digests.size(); ++i) {
    const CoveredFile& covered = prepared.covered[i];
    digests[i].setLabel(covered.label.c_str());
    digests[i].setSha(kj::arrayPtr(covered.digest.data(), covered.digest.size()));
  }
}

}  // namespace factionos::session
