#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "broker/audit/clock.h"
#include "broker/audit/digest.h"
#include "broker/audit/record.h"

// One line of the log as a value, and its one canonical text (format.md).
namespace factionos::audit {

inline constexpr std::size_t kMaxLineBytes =
    2048;  // above any line that encode() can write; checked by its test
inline constexpr std::uint64_t kLastTimeMs =
    253'402'300'799'999;                            // end of year 9999: the last that RFC 3339 can write
inline constexpr std::size_t kPublicKeyBytes = 32;  // Ed25519
inline constexpr std::size_t kSignatureBytes = 64;

using PublicKey = std::array<std::uint8_t, kPublicKeyBytes>;
using Signature = std::array<std::uint8_t, kSignatureBytes>;

// First line of a log: the key of epoch 1, which signs it itself.
struct Genesis {
  PublicKey key{};
};
// Last line of an epoch, signed by its key: names the key of the next.
struct Seal {
  std::uint64_t epoch = 0;  // the one that begins
  PublicKey key{};
};
// Bytes that a crash or a failed write left at the end, and that were cut off. None was ever acknowledged.
struct Gap {
  std::uint64_t bytes = 0;
  Digest digest{};  // of those bytes
};
// The decisions in these lines were never committed: nothing came of them.
struct Void {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// Whether the wall clock had stepped back since the line before.
enum class ClockNote { kForward, kBack };

struct Line {
  std::uint64_t sequence = 0;
  Time time{};
  ClockNote clock = ClockNote::kForward;
  std::variant<Genesis, Seal, Gap, Void, Record> body;
  Digest previous{};                     // hash of the line before; zero for the first
  std::optional<Signature> signature{};  // over this line's hash; on the last line of every batch
};

// "act_" and 26 characters of Crockford's base 32.
bool isActionId(std::string_view text);

// The text that the line's own `hash=` field and its signature are over.
std::string encodeContent(const Line& line);
// The whole line with its newline. The hash of all of it, newline left out, is `previous` of the next line.
std::string encode(const Line& line);

// What a signature in a line is made over: this and nothing else may be signed with an epoch's key for a
// line.
std::string signedText(const Digest& contentHash);

struct ParsedLine {
  Line line;
  Digest storedHash{};   // of the `hash=` field, as read
  Digest contentHash{};  // what it must be
  Digest lineHash{};     // over the whole text
};

// `text` without its newline. Nothing unless it is, but for the stored hash, byte for byte what encode()
// makes of some line. Never throws.
std::optional<ParsedLine> parseLine(std::string_view text);

}  // namespace factionos::audit
