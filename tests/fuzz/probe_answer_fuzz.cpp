// What the program of a container runtime may print in answer to the probe.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "workers/probe/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view printed(reinterpret_cast<const char*>(data), size);
  const auto versions = factionos::probe::readVersions(printed);
  if (!versions) return 0;
  const std::string_view version = versions->program;
  if (version.size() < 3 || version.size() > 19) std::abort();
  if (version.find_first_not_of("0123456789.") != std::string_view::npos) std::abort();
  return 0;
}
