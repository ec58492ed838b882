#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "broker/redaction/literal_automaton.h"
#include "broker/redaction/pattern_set.h"

namespace factionos::redaction {

// What is asked of a text. The rest of it is there so that a secret which the edge cuts is known as one.
struct Piece {
  std::size_t from = 0;
  std::size_t size = std::string_view::npos;
};
// How much of the rest it takes. Before: the longest key and the longest known value in its longest encoding,
// each of which may begin that far away. After: until the masker decides by itself.
inline constexpr std::size_t kContextBefore = std::size_t{64} * 1024;
inline constexpr std::size_t kContextAfter = std::size_t{8} * 1024;

// A whole short text after masking, as display text (see OutputWindow::Text). Made by maskText alone.
class MaskedText {
 public:
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  friend MaskedText maskBytes(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets,
                              std::string_view raw, Piece piece);
  friend MaskedText maskText(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets,
                             std::string_view raw, std::size_t maxBytes, Piece piece);
  MaskedText() = default;
  std::string text_;
};

// Masks a text that is complete, such as a commit subject or a bounded piece of a file. At most `maxBytes`
// masked bytes are kept, then `[dropped:N]` says how many were not. Costs one masker (some 20 us and 200 KiB
// for the time of the call). Throws MaskerFault or std::bad_alloc: then there is no text.
[[nodiscard]] MaskedText maskText(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets,
                                  std::string_view raw, std::size_t maxBytes, Piece piece = {});

// The same for bytes that are no text: what the masker leaves of them, as base64, all of it.
[[nodiscard]] MaskedText maskBytes(const PatternSet& patterns,
                                   std::shared_ptr<const LiteralAutomaton> secrets, std::string_view raw,
                                   Piece piece = {});

}  // namespace factionos::redaction
