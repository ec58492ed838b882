// config.toml as somebody wrote it. Whatever loads is in its ranges.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "broker/home/config.h"

namespace {

using namespace factionos::home;

void require(bool condition) {
  if (!condition) std::abort();
}

void checkProblem(const std::string& told) {
  require(told.find('\n') == std::string::npos && told.size() < 1024);
  for (const char letter : told) require(static_cast<unsigned char>(letter) >= 0x20);
}

void checkPath(const std::string& path) {
  require(path.starts_with('/') && path.find("/../") == std::string::npos &&
          path.find('\0') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = parseConfig({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) {
    checkProblem(parsed.problem().text());
    return 0;
  }
  const Config& config = parsed.value();
  require(config.listen.host == "127.0.0.1" || config.listen.host == "::1");
  require(config.limits.maxSessions >= 1 && config.limits.maxSessions <= 256);
  require(config.limits.outputCapBytes >= 4096 && config.limits.outputCapBytes <= (64U << 20U));
  require(config.limits.commandTimeout <= config.limits.maxCommandTimeout);
  for (const auto& workspace : config.workspaces) {
    checkPath(workspace.path);
    require(config.findWorkspace(workspace.name) == &workspace);
  }
  for (const auto& path : config.profile.programDirs) checkPath(path);
  for (const auto& path : config.profile.readableDirs) checkPath(path);
  return 0;
}
