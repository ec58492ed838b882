// Prints the OpenAPI document: factionos-openapi > docs/openapi.json
#include <cstdio>

#include "protocol/json/openapi.h"

int main() {
  std::string document =
      factionos::json::openApiDocument(FACTIONOS_VERSION, factionos::json::Layout::kIndented);
  bool written = std::fwrite(document.data(), 1, document.size(), stdout) == document.size();
  return written && std::fflush(stdout) == 0 ? 0 : 1;
}
