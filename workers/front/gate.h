// The lexical gate: every byte of a header block passes it before a parser sees one. It knows a strict subset
// of RFC 9112 and nothing of what fields mean, so that two readers of the same bytes can't disagree about
// lines, names or ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workers/front/refusal.h"

namespace factionos::front {

// RFC 9112 leaves these to the server. A client of ours needs a small part of each; common servers allow
// about as much.
inline constexpr std::size_t kMaxHeaderBytes = 16384;  // the whole block, from the method to the empty line
inline constexpr std::size_t kMaxTargetBytes = 8192;
inline constexpr std::size_t kMaxFields = 100;
inline constexpr std::size_t kMaxMethodBytes = 32;

// Reads one header block as it comes in. Refuses at the first byte that can't belong to one:
//   - a LF without CR, a CR without LF, NUL and every other control character but a tab in a field's value;
//   - a request line that is not `token SP /… SP HTTP/1.0` or `HTTP/1.1`, with single spaces and a target of
//   printable
//     ASCII; empty lines before it;
//   - a field line that does not begin with `token:` (a folded line, a space before the colon, an empty
//   name).
class HeaderGate {
 public:
  enum class State : std::uint8_t { kMore, kComplete, kRefused };

  // Takes the bytes that follow those already taken, up to the end of the block at most.
  State feed(std::string_view bytes);
  [[nodiscard]] State state() const { return state_; }
  // Bytes taken: with kComplete the length of the block, its empty line included.
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] Refusal refusal() const { return refusal_; }
  void reset() { *this = HeaderGate(); }

 private:
  enum class Place : std::uint8_t {
    kMethod,
    kTargetStart,
    kTarget,
    kVersion,
    kLineFeed,
    kFieldStart,
    kName,
    kValue,
    kLastLineFeed
  };

  void step(unsigned char byte);
  void inMethod(unsigned char byte);
  void inTarget(unsigned char byte);
  void inVersion(unsigned char byte);
  void atFieldStart(unsigned char byte);
  void inName(unsigned char byte);
  void inValue(unsigned char byte);
  void refuse(Refusal why);

  State state_ = State::kMore;
  Refusal refusal_ = Refusal::kNone;
  Place place_ = Place::kMethod;
  std::uint16_t partLength_ = 0;  // of the method, the target or the version
  std::uint16_t fields_ = 0;
  std::size_t length_ = 0;
  char version_[8] = {};
};

struct Field {
  std::string_view name;   // as it was sent
  std::string_view value;  // without the white space around it
};

// A block that the gate let through, cut into its pieces. All views point into the block.
struct HeaderBlock {
  std::string_view method;
  std::string_view target;
  int minorVersion = 1;  // of HTTP/1
  std::vector<Field> fields;
};

// Precondition: the gate said kComplete for exactly these bytes.
void splitHeaderBlock(std::string_view block, HeaderBlock& into);

// ASCII letters alone; no locale.
bool equalsIgnoreCase(std::string_view left, std::string_view right);

}  // namespace factionos::front
