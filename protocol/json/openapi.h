// The OpenAPI 3.1 document, printed from the route table and the schemas.
#pragma once

#include <string>
#include <string_view>

namespace factionos::json {

enum class Layout { kCompact, kIndented };

// `version` becomes info.version. The same input gives the same bytes.
[[nodiscard]] std::string openApiDocument(std::string_view version, Layout layout = Layout::kCompact);

}  // namespace factionos::json
