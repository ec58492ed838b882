#include "broker/redaction/masked_text.h"

#include <algorithm>
#include <span>

#include <sodium.h>

#include "broker/redaction/masker.h"
#include "broker/redaction/output.h"

namespace factionos::redaction {
namespace {

void show(Masker& masker, Piece piece) {
  const std::size_t most = std::string_view::npos - piece.from;
  masker.show(piece.from, piece.from + std::min(piece.size, most));
}

}  // namespace

MaskedText maskText(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets,
                    std::string_view raw, std::size_t maxBytes, Piece piece) {
  const std::size_t kept = std::max(maxBytes, OutputWindow::kMinRead);
  OutputWindow window({.totalBytes = kept + 1, .headBytes = kept});
  Masker masker(patterns, std::move(secrets));
  show(masker, piece);
  masker.feed(std::as_bytes(std::span(raw)), Masker::Time{}, window);
  masker.finish(window);
  window.finish();
  MaskedText result;
  const OutputWindow::Text head = window.read(0, kept);
  result.text_ = head.text();
  if (const std::uint64_t dropped = window.totalBytes() - head.next(); dropped > 0) {
    result.text_ += "[dropped:" + std::to_string(dropped) + "]";
  }
  return result;
}

namespace {

struct Collected final : MaskedSink {
  void onMasked(MaskedBytes bytes) override { text += bytes.view(); }
  std::string text;
};

}  // namespace

MaskedText maskBytes(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets,
                     std::string_view raw, Piece piece) {
  Collected masked;
  Masker masker(patterns, std::move(secrets));
  show(masker, piece);
  masker.feed(std::as_bytes(std::span(raw)), Masker::Time{}, masked);
  masker.finish(masked);
  const std::string& bytes = masked.text;
  MaskedText result;
  result.text_.resize(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL));
  sodium_bin2base64(result.text_.data(), result.text_.size(),
                    reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  result.text_.pop_back();  // its NUL
  return result;
}

}  // namespace factionos::redaction
