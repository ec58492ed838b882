#pragma once

#include <string>
#include <string_view>

namespace factionos::json {

// The JSON form of an enumerant: "timedOut" is "timed_out". Both directions go through this one function: a
// value that comes in is compared with the form that would go out.
[[nodiscard]] std::string snakeCase(std::string_view camelCase);

}  // namespace factionos::json
