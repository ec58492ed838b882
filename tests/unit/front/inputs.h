// Malformed, hostile and merely odd requests, as data: what each sends and what must come of it. The unit
// test runs them through gate, semantics and parser; the integration test sends them to the real process.
// Numbers are those of the measurement that the front's rules come from, so that a reader can compare.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace factionos::front::test {

enum class End {
  kOpen,   // the connection lives on
  kClosed  // the front closes it
};

enum class Judge {
  kHeader,  // gate, semantics or parser refuse it
  kRoute,   // well formed; what comes of it is the router's affair
};

struct Input {
  std::string name;
  std::string bytes;
  std::vector<int> statuses;  // of all answers, in order
  End end = End::kClosed;
  Judge judge = Judge::kHeader;

  friend void PrintTo(const Input& input, std::ostream* out) { *out << input.name; }
};

// Requests that are in order carry this token; the fake broker knows it.
inline constexpr std::string_view kGoodToken = "good-token-of-the-tests";

// A complete request to GET /healthz that hides behind another; if it is answered, it was smuggled.
std::string smuggled();
// GET /healthz with further header lines, each with its CRLF.
std::string get(std::string_view lines = {});
// POST /event with the good token; `lines` must bring the length.
std::string post(std::string_view lines, std::string_view body);

const std::vector<Input>& inputs();

}  // namespace factionos::front::test
