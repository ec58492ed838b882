// A JSON body of the engine, and reading it without trust: what is missing or of another type is no value. No
// KJ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

namespace factionos::container {

using Element = simdjson::dom::element;
using MaybeElement = std::optional<Element>;

class JsonDocument {
 public:
  // Copies `body`.
  explicit JsonDocument(std::string_view body);

  // No value: it is not JSON, or nested deeper than any engine's.
  [[nodiscard]] const MaybeElement& root() const { return root_; }

 private:
  simdjson::dom::parser parser_;
  MaybeElement root_;
};

// Of an object; no value where it is none, or has no such member. `null` is no value.
MaybeElement member(const MaybeElement& object, std::string_view name);
std::optional<std::string_view> textOf(const MaybeElement& element);
std::optional<bool> boolOf(const MaybeElement& element);
std::optional<std::int64_t> integerOf(const MaybeElement& element);
// Of a list; empty where it is none.
std::vector<Element> elementsOf(const MaybeElement& element);
// Null and a missing member are an empty list, as the engines write one; no value where it is no list, or not
// one of texts.
std::optional<std::vector<std::string_view>> textsOf(const MaybeElement& element);
// Of an object or a list; null and missing: 0. No value for anything else.
std::optional<std::size_t> countOf(const MaybeElement& element);

}  // namespace factionos::container
