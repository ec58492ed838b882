// Builds JSON text. The caller keeps brackets and keys in order; commas and escapes are made here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace factionos::json {

class JsonText {
 public:
  // Appends to `out`, which must outlive this.
  explicit JsonText(std::string& out) : out_(out), start_(out.size()) {}

  void beginObject() { open('{'); }
  void endObject() { out_ += '}'; }
  void beginArray() { open('['); }
  void endArray() { out_ += ']'; }
  void key(std::string_view name);
  void text(std::string_view value);
  void boolean(bool value);
  void integer(std::int64_t value);
  void unsignedInteger(std::uint64_t value);
  void raw(std::string_view json);  // a whole JSON value

  void member(std::string_view name, std::string_view value) { key(name), text(value); }

 private:
  void separate();
  void open(char bracket);

  std::string& out_;
  std::size_t start_;
};

// Appends `value` as a JSON string, quotes included. Escaped are quotes, backslashes, C0, DEL, C1 and
// U+2028/2029, so that the text is safe on a terminal and in a script; what is not UTF-8 becomes U+FFFD.
void appendJsonString(std::string_view value, std::string& out);

// Compact JSON, made by JsonText, with two spaces a level and a newline at its end.
[[nodiscard]] std::string indented(std::string_view compact);

}  // namespace factionos::json
