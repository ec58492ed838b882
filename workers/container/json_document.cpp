#include "workers/container/json_document.h"

namespace factionos::container {
namespace {

constexpr std::size_t kMaxDepth = 32;

}  // namespace

JsonDocument::JsonDocument(std::string_view body) {
  if (body.empty() || parser_.allocate(body.size(), kMaxDepth) != simdjson::SUCCESS) return;
  Element root;
  if (parser_.parse(body.data(), body.size(), true).get(root) == simdjson::SUCCESS) root_ = root;
}

MaybeElement member(const MaybeElement& object, std::string_view name) {
  if (!object || !object->is_object()) return std::nullopt;
  const simdjson::dom::object members = object->get_object().value_unsafe();
  Element found;
  if (members.at_key(name).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

std::optional<std::string_view> textOf(const MaybeElement& element) {
  if (!element || !element->is_string()) return std::nullopt;
  return element->get_string().value_unsafe();
}

std::optional<bool> boolOf(const MaybeElement& element) {
  if (!element || !element->is_bool()) return std::nullopt;
  return element->get_bool().value_unsafe();
}

std::optional<std::int64_t> integerOf(const MaybeElement& element) {
  if (!element || !element->is_int64()) return std::nullopt;
  return element->get_int64().value_unsafe();
}

std::vector<Element> elementsOf(const MaybeElement& element) {
  if (!element || !element->is_array()) return {};
  const simdjson::dom::array list = element->get_array().value_unsafe();
  return {list.begin(), list.end()};
}

std::optional<std::vector<std::string_view>> textsOf(const MaybeElement& element) {
  std::vector<std::string_view> found;
  if (element && !element->is_array()) return std::nullopt;
  for (const Element each : elementsOf(element)) {
    const auto text = textOf(each);
    if (!text) return std::nullopt;
    found.push_back(*text);
  }
  return found;
}

std::optional<std::size_t> countOf(const MaybeElement& element) {
  if (!element) return 0;
  if (element->is_array()) return elementsOf(element).size();
  if (element->is_object()) {
    const simdjson::dom::object members = element->get_object().value_unsafe();
    return members.size();
  }
  return std::nullopt;
}

}  // namespace factionos::container
