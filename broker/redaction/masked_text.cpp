#include "broker/redaction/masked_text.h"

#include <algorithm>
#include <span>

#include "broker/redaction/masker.h"
#include "broker/redaction/output.h"

namespace factionos::redaction {

MaskedText maskText(const PatternSet& patterns, std::shared_ptr<const LiteralAutomaton> secrets,
                    std::string_view raw, std::size_t maxBytes) {
  const std::size_t kept = std::max(maxBytes, OutputWindow::kMinRead);
  OutputWindow window({.totalBytes = kept + 1, .headBytes = kept});
  Masker masker(patterns, std::move(secrets));
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

}  // namespace factionos::redaction
