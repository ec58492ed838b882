#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "broker/redaction/redactor.h"

namespace factionos::broker {

enum class Level { kInfo, kWarning, kError };

// One field of a log line: a label, a code, a word or a number of ours.
class Field {
  using Redactor = redaction::Redactor<redaction::Boundary::kLog>;

 public:
  Field(redaction::Literal name, const redaction::Label& label)
      : name_(name), value_(Redactor::label(label)) {}
  Field(redaction::Literal name, const redaction::Code& code) : name_(name), value_(Redactor::code(code)) {}
  Field(redaction::Literal name, redaction::Literal word) : name_(name), value_(Redactor::words(word)) {}
  Field(redaction::Literal name, std::uint64_t count) : name_(name), value_(Redactor::count(count)) {}

  std::string_view name() const { return name_.text(); }
  const std::string& value() const { return value_.text(); }

 private:
  redaction::Literal name_;
  redaction::Redacted<redaction::Boundary::kLog> value_;
};

// The broker's log, on standard error: time, level, a fixed event name, fixed fields. Only the broker logs;
// nothing raw has a way into a line.
void log(Level level, redaction::Literal event, std::initializer_list<Field> fields = {});

}  // namespace factionos::broker
