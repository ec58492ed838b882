#include "broker/walls/question.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "sandbox/notify.h"
#include "workers/session/guarded_names.h"
#include "workers/session/protected_paths.h"

namespace factionos::walls {
namespace {

namespace explain = sandbox::explain;

void settle(session::CommandScope& command, const World& world, const sandbox::NamespacePosture& namespaces) {
  command.workspace = world.workspace;
  command.terminal = "/dev/pts/session";
  command.programPaths = world.programPaths;
  command.readPaths = world.readPaths;
  command.apiPort = world.apiPort;
  const std::string own = world.scratch + "/session";
  command.temporary = namespaces.mount ? "/tmp" : own + "/tmp";
  command.home = namespaces.mount ? "/tmp/.home" : own + "/home";
}

// As the gofer of a command answers.
std::function<std::optional<explain::Supervised>(explain::Operation, const std::string&)> goferOf(
    const std::string& workspace, const session::ProtectedPaths& paths, bool mounts) {
  const session::GuardedNames names(workspace, paths,
                                    mounts ? session::Mounted::kYes : session::Mounted::kNo);
  return [names, mounts](explain::Operation operation,
                         const std::string& path) -> std::optional<explain::Supervised> {
    if (mounts && operation == explain::Operation::kWrite) return std::nullopt;  // the mount says it first
    const auto refusal = names.judge(path, session::Change::kMake);
    if (!refusal || refusal->denial.source != session::DenialSource::kSupervisor) return std::nullopt;
    return explain::Supervised{refusal->error, "a protected name",
                               "what others execute or read as their settings, there or not"};
  };
}

std::vector<explain::MadeLater> madeLater(const session::CommandScope& command,
                                          const sandbox::NamespacePosture& namespaces) {
  using Kind = explain::MadeLater::Kind;
  std::vector<explain::MadeLater> made = {{Kind::kTerminal, command.terminal}};
  if (namespaces.mount) return made;
  made.push_back({Kind::kDirectory, command.temporary});
  made.push_back({Kind::kDirectory, command.home});
  return made;
}

// Names of our list are told; others are the workspace's own.
std::string protectedName(const session::ProtectedPath& path) {
  const auto names = session::protectedNames();
  const bool listed = std::ranges::find(names, path.path, &session::ProtectedName::path) != names.end();
  return listed ? "the protected " + path.path : "a protected path";
}

std::vector<explain::Spoken> spoken(const session::CommandScope& command) {
  std::vector<explain::Spoken> names = {{command.workspace, "the workspace"},
                                        {command.temporary, "$TMPDIR"},
                                        {command.home, "$HOME"},
                                        {command.terminal, "$TTY"}};
  for (const std::string& path : command.programPaths) names.push_back({path, "[profile] program_dirs"});
  for (const std::string& path : command.readPaths) names.push_back({path, "[profile] readable_dirs"});
  for (const session::ProtectedPath& path : command.protectedPaths)
    names.push_back({command.workspace + "/" + path.path, protectedName(path)});
  return names;
}

std::optional<std::string> absolute(std::string_view text, const session::CommandScope& command) {
  if (text.empty() || text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::array variables = {std::pair{std::string_view("$TMPDIR"), &command.temporary},
                                std::pair{std::string_view("$HOME"), &command.home},
                                std::pair{std::string_view("$TTY"), &command.terminal}};
  for (const auto& [name, value] : variables) {
    const std::string_view rest = text.substr(std::min(name.size(), text.size()));
    if (text.starts_with(name) && (rest.empty() || rest.front() == '/')) return *value + std::string(rest);
  }
  return text.front() == '/' ? std::string(text) : command.workspace + "/" + std::string(text);
}

struct Address {
  bool loopback = true;
  bool version6 = false;
};

std::optional<Address> addressOf(std::string_view text) {
  if (text.empty()) return Address{};
  in_addr four{};
  if (inet_pton(AF_INET, std::string(text).c_str(), &four) == 1)
    return Address{.loopback = (ntohl(four.s_addr) >> 24) == IN_LOOPBACKNET, .version6 = false};
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  in6_addr six{};
  if (inet_pton(AF_INET6, std::string(text.substr(1, text.size() - 2)).c_str(), &six) != 1)
    return std::nullopt;
  return Address{.loopback = IN6_IS_ADDR_LOOPBACK(&six) != 0, .version6 = true};
}

}  // namespace

Question ask(const Profile& profile, const World& world) {
  Scene scene;
  scene.landlockAbi = world.landlockAbi;
  scene.support = world.support;
  scene.namespaces = namespacesOf(profile, world.support);
  scene.home = world.home;
  scene.workspace = world.workspaceHandle;
  settle(scene.command, world, scene.namespaces);
  session::ProtectedPaths paths;
  // A gofer is within the same mounts.
  if ((profile.role == "command" || profile.role == "gofer") && world.workspaceHandle >= 0)
    paths = session::findProtected(world.workspaceHandle);
  if (scene.namespaces.mount) scene.command.protectedPaths = paths.present;
  Question question;
  question.scene.policy = profile.policy(scene);
  question.scene.namespaces = scene.namespaces;
  question.scene.landlockAbi = world.landlockAbi;
  question.scene.made = madeLater(scene.command, scene.namespaces);
  question.scene.spoken = spoken(scene.command);
  if (profile.role == "command" && sandbox::canSupervise())
    question.scene.supervisor = goferOf(world.workspace, paths, scene.namespaces.mount);
  question.command = std::move(scene.command);
  return question;
}

std::optional<std::string> fileTarget(std::string_view text, const session::CommandScope& command) {
  return absolute(text, command);
}

std::optional<explain::Peer> peerTarget(std::string_view text, const session::CommandScope& command) {
  const std::string_view kind = text.substr(0, text.find(':'));
  if (kind.size() == text.size()) return std::nullopt;
  const std::string_view rest = text.substr(kind.size() + 1);
  if (kind == "unix") {
    if (rest.starts_with('@')) return explain::AbstractName{std::string(rest.substr(1))};
    const std::optional<std::string> path = absolute(rest, command);
    if (!path) return std::nullopt;
    return explain::UnixPath{*path};
  }
  const std::size_t colon = rest.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? rest : rest.substr(colon + 1);
  const auto address =
      addressOf(colon == std::string_view::npos ? std::string_view() : rest.substr(0, colon));
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (!address || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (kind == "tcp") return explain::TcpPort{port, address->loopback, address->version6};
  if (kind == "udp") return explain::UdpPort{port, address->loopback, address->version6};
  return std::nullopt;
}

}  // namespace factionos::walls
