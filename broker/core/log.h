#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace factionos::broker {

enum class Level { kInfo, kWarning, kError };

// One field of a log line: a label, a code or a number of ours. Text that is no label is written as "?".
struct Field {
  Field(std::string_view fieldName, std::string_view text) : name(fieldName), label(text) {}
  Field(std::string_view fieldName, std::uint64_t value) : name(fieldName), number(value), isNumber(true) {}

  std::string_view name;
  std::string_view label;
  std::uint64_t number = 0;
  bool isNumber = false;
};

// The broker's log, on standard error: time, level, a fixed event name, fixed fields. Only the broker logs;
// nothing raw has a way into a line, because a field is a label or a number.
void log(Level level, std::string_view event, std::initializer_list<Field> fields = {});

}  // namespace factionos::broker
