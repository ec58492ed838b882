#include "broker/core/log.h"

#include <string>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace factionos::broker {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made =
        std::make_shared<spdlog::logger>("factionosd", std::make_shared<spdlog::sinks::stderr_sink_st>());
    // UTC with milliseconds; the time zone's file is not to be read inside of the sandbox.
    made->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                                                                    spdlog::pattern_time_type::utc));
    return made;
  }();
  return *instance;
}

}  // namespace

void log(Level level, redaction::Literal event, std::initializer_list<Field> fields) {
  std::string line(event.text());
  for (const auto& field : fields) {
    line += ' ';
    line += field.name();
    line += '=';
    line += field.value();
  }
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::info, spdlog::level::warn,
                                                   spdlog::level::err};
  logger().log(kLevels[static_cast<int>(level)], line);
  logger().flush();
}

}  // namespace factionos::broker
