#include "broker/home/toml_reader.h"

#include <algorithm>

namespace factionos::home {
namespace {

constexpr std::size_t kMaxListEntries = 256;

using Millis = std::chrono::sys_time<std::chrono::milliseconds>;

std::string joined(std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

bool hasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

std::optional<Millis> toTime(const toml::date_time& value) {
  if (!value.offset) return std::nullopt;
  using namespace std::chrono;
  const year_month_day day{year{static_cast<int>(value.date.year)}, month{value.date.month},
                           std::chrono::day{value.date.day}};
  if (!day.ok()) return std::nullopt;
  const auto sinceMidnight = hours{value.time.hour} + minutes{value.time.minute} +
                             seconds{value.time.second} + milliseconds{value.time.nanosecond / 1'000'000};
  return Millis{sys_days{day}.time_since_epoch() + sinceMidnight - minutes{value.offset->minutes}};
}

// toml++ itself reads the quoted form, once it is certain that nothing but a time can be in it.
std::optional<Millis> timeFromText(std::string_view text) {
  constexpr std::string_view kAlphabet = "0123456789-:.TZ+tz ";
  if (text.size() > 40 || text.find_first_not_of(kAlphabet) != std::string_view::npos) return std::nullopt;
  try {
    const toml::table table = toml::parse("t = " + std::string(text));
    const auto* value = table.get_as<toml::date_time>("t");
    return value == nullptr ? std::nullopt : toTime(value->get());
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

}  // namespace

TomlReader::TomlReader(std::string_view file, std::string_view text) : file_(file) {
  try {
    root_ = toml::parse(text);
  } catch (const toml::parse_error& error) {
    // toml++'s own description quotes the text; its place is enough.
    failAt(error.source().begin, "file", "this is not valid TOML",
           "mend the line; quotes, brackets and = are the usual causes");
  }
}

void TomlReader::failAt(const toml::source_position& place, std::string_view field, std::string_view what,
                        std::string_view next) const {
  std::string message = file_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
  message.append(field).append(": ").append(what);
  throw TomlError{{ProblemCode::kInvalid, std::move(message), std::string(next)}};
}

void TomlReader::fail(const toml::table& table, std::string_view where, std::string_view key,
                      std::string_view what, std::string_view next) const {
  const toml::node* node = table.get(key);
  const toml::source_region& region = node != nullptr ? node->source() : table.source();
  failAt(region.begin, std::string(where) + std::string(key), what, next);
}

void TomlReader::onlyKeys(const toml::table& table, std::string_view where,
                          std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    const std::string field = where.empty() ? "top level" : std::string(where.substr(0, where.size() - 1));
    failAt(key.source().begin, field, "unknown key", "known here: " + joined(known));
  }
}

const toml::table* TomlReader::table(const toml::table& parent, std::string_view key) const {
  const toml::node* node = parent.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) fail(parent, "", key, "must be a table", "write it as [" + std::string(key) + "]");
  return node->as_table();
}

std::vector<const toml::table*> TomlReader::tables(const toml::table& parent, std::string_view key) const {
  std::vector<const toml::table*> found;
  const toml::node* node = parent.get(key);
  if (node == nullptr) return found;
  const toml::array* array = node->as_array();
  const std::string next = "write each one as [[" + std::string(key) + "]]";
  if (array == nullptr) fail(parent, "", key, "must be a list of tables", next);
  for (const toml::node& entry : *array) {
    if (!entry.is_table()) fail(parent, "", key, "must be a list of tables", next);
    found.push_back(entry.as_table());
  }
  return found;
}

std::optional<std::string> TomlReader::text(const toml::table& table, std::string_view where,
                                            std::string_view key, std::size_t maxBytes) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_string();
  if (value == nullptr) fail(table, where, key, "must be a string", "write it between double quotes");
  if (value->get().size() > maxBytes || hasControl(value->get())) {
    fail(table, where, key, "is too long or holds a control character",
         "keep to " + std::to_string(maxBytes) + " printable bytes");
  }
  return value->get();
}

std::string TomlReader::needText(const toml::table& table, std::string_view where,
                                 std::string_view key) const {
  auto value = text(table, where, key);
  if (!value) fail(table, where, key, "is missing", "add it to this table");
  return *std::move(value);
}

std::optional<std::uint64_t> TomlReader::number(const toml::table& table, std::string_view where,
                                                std::string_view key, std::uint64_t least,
                                                std::uint64_t most) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_integer();
  const std::string range =
      "write a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (value == nullptr || value->get() < 0) fail(table, where, key, "must be a whole number", range);
  const auto number = static_cast<std::uint64_t>(value->get());
  if (number < least || number > most) fail(table, where, key, "is out of range", range);
  return number;
}

std::optional<bool> TomlReader::flag(const toml::table& table, std::string_view where,
                                     std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_boolean();
  if (value == nullptr) fail(table, where, key, "must be true or false", "write it without quotes");
  return value->get();
}

std::vector<std::string> TomlReader::texts(const toml::table& table, std::string_view where,
                                           std::string_view key) const {
  std::vector<std::string> found;
  const toml::node* node = table.get(key);
  if (node == nullptr) return found;
  const toml::array* array = node->as_array();
  constexpr std::string_view kNext = "write it as [\"one\", \"two\"]";
  if (array == nullptr || array->size() > kMaxListEntries)
    fail(table, where, key, "must be a list of at most 256 strings", kNext);
  for (const toml::node& entry : *array) {
    const auto* value = entry.as_string();
    if (value == nullptr || value->get().size() > 4096 || hasControl(value->get())) {
      fail(table, where, key, "must be a list of printable strings", kNext);
    }
    found.push_back(value->get());
  }
  return found;
}

std::optional<Millis> TomlReader::time(const toml::table& table, std::string_view where,
                                       std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  std::optional<Millis> value;
  if (const auto* moment = node->as_date_time()) value = toTime(moment->get());
  if (const auto* quoted = node->as_string()) value = timeFromText(quoted->get());
  if (!value) {
    fail(table, where, key, "must be a date and time with its zone", "write it like 2030-01-31T18:00:00Z");
  }
  return value;
}

}  // namespace factionos::home
