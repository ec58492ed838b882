// What the program printed, read without trust. No KJ, no process: a fuzzer builds it in seconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace factionos::probe {

struct Versions {
  std::string program;  // matching [0-9]{1,4}(\.[0-9]{1,4}){1,3}
  bool serviceAnswers = false;
};

// Of Apple's `container system version --format json`: a list of objects, each with appName and version. The
// program's own is "container"; its service is listed as "container-apiserver" where it answers, with a
// sentence for a version. No value: it is anything else.
std::optional<Versions> readVersions(std::string_view printed);

}  // namespace factionos::probe
