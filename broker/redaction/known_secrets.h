#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "broker/redaction/literal_automaton.h"
#include "broker/redaction/wiping_allocator.h"

namespace factionos::redaction {

// Values that must never appear in output, with the encodings in which programs print them. An immutable copy
// is shared by the maskers; it is wiped with the last of them.
//
// Encodings: as it is, base64 and base64url at all three alignments, hex (both cases), %-encoding (strict, as
// by encodeURIComponent, and form encoding; both hex cases), JSON escapes (with and without \/ and \u00xx),
// shell quoting (single quotes, backslashes, $'...'), XML entities. Out of scope: any of these applied twice,
// UTF-16, compression, and the one base64 character at each end that also carries bits of the neighbouring
// bytes.
class KnownSecrets {
 public:
  // Shorter values, and those with fewer than three different bytes, would mask ordinary text.
  static constexpr std::size_t kMinBytes = 6;
  static constexpr std::size_t kMaxBytes = std::size_t{8} * 1024;
  static constexpr std::size_t kMaxStates = std::size_t{1} << 20U;  // about 28 MiB of automaton

  enum class Added : std::uint8_t { kOk, kTooShort, kTooWeak, kTooLong, kTooMany };

  KnownSecrets() : automaton_(std::make_shared<LiteralAutomaton>()) {}

  // What is not kOk is not masked: the caller decides whether it may then run. Lines of at least 16 bytes of
  // a value of several lines are known on their own too.
  [[nodiscard]] Added add(std::string_view value);

  // Ready for use; nothing can be added to the result.
  [[nodiscard]] std::shared_ptr<const LiteralAutomaton> freeze() &&;

 private:
  std::shared_ptr<LiteralAutomaton> automaton_;
};

// The encoded forms of one value, the value itself first; may hold repeats.
[[nodiscard]] std::vector<SecretString> encodedForms(std::string_view value);

}  // namespace factionos::redaction
