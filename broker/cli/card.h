#pragma once

#include <string>
#include <string_view>

#include <capnp/schema.h>

#include "protocol/schemas/api.capnp.h"

namespace factionos::cli {

// The consent card and one line of a list, for a terminal. Labels and counts alone.
void printCard(schema::Action::Reader action);
void printRow(schema::Action::Reader action);

// "timed_out" for "timedOut".
std::string enumName(std::string_view enumerant);
template <typename Enum>
std::string nameOf(Enum value) {
  const auto enumerants = capnp::Schema::from<Enum>().getEnumerants();
  const auto index = static_cast<unsigned>(value);
  return index < enumerants.size() ? enumName(enumerants[index].getProto().getName().cStr()) : "unspecified";
}

}  // namespace factionos::cli
