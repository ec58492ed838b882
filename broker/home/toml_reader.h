#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "broker/home/result.h"

namespace factionos::home {

// Thrown inside a parser of ours and caught at its door; never crosses a library's public functions.
struct TomlError {
  Problem problem;
};

// Reads one of our own TOML files strictly: every key is known, every value has its type, and an error names
// file, line, column, the field by our own name and the next step, and repeats nothing of what the file says.
class TomlReader {
 public:
  TomlReader(std::string_view file, std::string_view text);  // throws TomlError

  const toml::table& root() const { return root_; }

  // `where` is what a field's name starts with: "" or "limits." or "workspace.".
  void onlyKeys(const toml::table& table, std::string_view where,
                std::initializer_list<std::string_view> known) const;
  const toml::table* table(const toml::table& parent, std::string_view key) const;
  // The tables of `[[key]]`; none when it is missing.
  std::vector<const toml::table*> tables(const toml::table& parent, std::string_view key) const;

  // A string without control characters, at most `maxBytes` long. Nothing when the key is missing.
  std::optional<std::string> text(const toml::table& table, std::string_view where, std::string_view key,
                                  std::size_t maxBytes = 4096) const;
  std::string needText(const toml::table& table, std::string_view where, std::string_view key) const;
  std::optional<std::uint64_t> number(const toml::table& table, std::string_view where, std::string_view key,
                                      std::uint64_t least, std::uint64_t most) const;
  std::optional<bool> flag(const toml::table& table, std::string_view where, std::string_view key) const;
  std::vector<std::string> texts(const toml::table& table, std::string_view where,
                                 std::string_view key) const;
  // A time with its zone, as a TOML date-time or as a string of the same form.
  std::optional<std::chrono::sys_time<std::chrono::milliseconds>> time(const toml::table& table,
                                                                       std::string_view where,
                                                                       std::string_view key) const;

  // At the key's value when the table has it, else at the table.
  [[noreturn]] void fail(const toml::table& table, std::string_view where, std::string_view key,
                         std::string_view what, std::string_view next) const;

 private:
  [[noreturn]] void failAt(const toml::source_position& place, std::string_view field, std::string_view what,
                           std::string_view next) const;

  std::string file_;
  toml::table root_;
};

}  // namespace factionos::home
