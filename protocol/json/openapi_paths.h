// The operations of the OpenAPI document: those that are built, those that answer 501, those that the front
// has by itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "protocol/json/json_text.h"
#include "protocol/json/openapi_schemas.h"
#include "protocol/json/routes.h"

namespace factionos::json {

class OpenApiPaths {
 public:
  explicit OpenApiPaths(ComponentSchemas& components) : components_(components) {}

  void add(const Route& route);
  void add(const UnavailableRow& row);
  void add(const ServiceRoute& service);

  // All paths, as the members of an object.
  void writeAll(JsonText& json) const;

 private:
  void writeParameters(const Route& route, const StructShape& request, JsonText& json);
  void writeRequestBody(const Route& route, const StructShape& request, JsonText& json);
  void writeResponses(const Route& route, JsonText& json);

  ComponentSchemas& components_;
  Shapes shapes_;
  std::map<std::string, std::map<std::string, std::string>> operations_;  // path, method, JSON
};

// The statuses that problems have, each a component "Problem<status>".
void writeProblemResponses(JsonText& json);

}  // namespace factionos::json
