#pragma once

namespace factionos::test {

// Nobody is asked, so that a scenario is one request.
inline constexpr const char* kEverythingAllowed = R"([[rule]]
family = "*"
operation = "*"
decision = "allow"
until = 2099-01-01T00:00:00Z
reason = "the test's own"
)";

}  // namespace factionos::test
