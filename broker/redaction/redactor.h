#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "broker/redaction/boundary.h"
#include "broker/redaction/label.h"
#include "broker/redaction/masked_text.h"
#include "broker/redaction/matrix.h"
#include "broker/redaction/output.h"
#include "broker/redaction/words.h"

namespace factionos::redaction {

template <Boundary B>
class Redactor;

// A value that may cross boundary B and no other. Only Redactor<B> makes one, so a function that writes to a
// boundary takes Redacted<B> and can't be given anything raw.
template <Boundary B>
class Redacted {
 public:
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  friend class Redactor<B>;
  explicit Redacted(std::string text) noexcept : text_(std::move(text)) {}
  std::string text_;
};

namespace detail {
[[nodiscard]] std::string renderTime(std::chrono::system_clock::time_point time);
[[nodiscard]] std::string renderDigest(const KeyedDigest& digest);
[[nodiscard]] std::string renderOperatorView(std::string_view raw, std::size_t maxBytes);
[[nodiscard]] std::string printableAlone(std::string_view raw);  // any other byte as '?'
}  // namespace detail

template <Category C, Boundary B, Verdict V>
concept MatrixAllows = verdictOf(C, B)
== V;

// Makes what may cross boundary B. What belongs to a category of the matrix names it, and compiles only where
// the matrix has the verdict for it; what belongs to none (our own labels, codes, words, counts, times)
// crosses everywhere but to the hosted boundary, which stays empty.
template <Boundary B>
class Redactor {
  static constexpr bool kOpen = B != Boundary::kHostedTransfer;

 public:
  [[nodiscard]] static Redacted<B> label(const Label& label) requires kOpen {
    return Redacted<B>(label.text());
  }
  [[nodiscard]] static Redacted<B> code(const Code& code) requires kOpen { return Redacted<B>(code.text()); }
  [[nodiscard]] static Redacted<B> words(const Sentence& sentence) requires kOpen {
    return Redacted<B>(sentence.text());
  }
  [[nodiscard]] static Redacted<B> bytes(const PublicBytes& bytes) requires kOpen {
    return Redacted<B>(bytes.text());
  }
  [[nodiscard]] static Redacted<B> count(std::uint64_t count) requires kOpen {
    return Redacted<B>(std::to_string(count));
  }
  // RFC 3339, UTC, milliseconds.
  [[nodiscard]] static Redacted<B> time(std::chrono::system_clock::time_point time) requires kOpen {
    return Redacted<B>(detail::renderTime(time));
  }

  template <Category C>
  requires MatrixAllows<C, B, Verdict::kLabel>
  [[nodiscard]] static Redacted<B> labelOf(const Label& label) { return Redacted<B>(label.text()); }
  template <Category C>
  requires MatrixAllows<C, B, Verdict::kCount>
  [[nodiscard]] static Redacted<B> countOf(std::uint64_t count) { return Redacted<B>(std::to_string(count)); }
  template <Category C>
  requires MatrixAllows<C, B, Verdict::kDigest>
  [[nodiscard]] static Redacted<B> digestOf(const KeyedDigest& digest) {
    return Redacted<B>(detail::renderDigest(digest));
  }
  template <Category C>
  requires MatrixAllows<C, B, Verdict::kMaskedBounded>
  [[nodiscard]] static Redacted<B> masked(const OutputWindow::Text& text) { return Redacted<B>(text.text()); }
  template <Category C>
  requires MatrixAllows<C, B, Verdict::kMaskedBounded>
  [[nodiscard]] static Redacted<B> masked(const MaskedText& text) { return Redacted<B>(text.text()); }
  // The visible form, of at most maxBytes and its heading. The callers of this and the next are handlers of
  // the operator's socket.
  template <Category C>
  requires MatrixAllows<C, B, Verdict::kOperatorOnly>
  [[nodiscard]] static Redacted<B> forOperator(std::string_view raw, std::size_t maxBytes) {
    return Redacted<B>(detail::renderOperatorView(raw, maxBytes));
  }
  // As it is, for a value that is printable by its own grammar: a token, a message that names a file.
  template <Category C>
  requires MatrixAllows<C, B, Verdict::kOperatorOnly>
  [[nodiscard]] static Redacted<B> plainForOperator(std::string_view raw) {
    return Redacted<B>(detail::printableAlone(raw));
  }
  // The very bytes. The caller holds the capability of the one worker that they are for.
  template <Category C>
  requires MatrixAllows<C, B, Verdict::kScoped>
  [[nodiscard]] static Redacted<B> scoped(std::string raw) { return Redacted<B>(std::move(raw)); }
};

}  // namespace factionos::redaction
