// Any bytes, cut anywhere: the masked output does not depend on the cuts, holds no known value, and the
// window that takes it stays within its limits and gives valid text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "broker/redaction/known_secrets.h"
#include "broker/redaction/masker.h"
#include "broker/redaction/output.h"
#include "broker/redaction/pattern_set.h"
#include "broker/redaction/text.h"

namespace {

using namespace factionos::redaction;

constexpr std::string_view kSecret =
    "q7Zx-Kw9/Lm";  // as random as a real one: the input can't spell it by chance

constexpr std::string_view kUnseen = "\xe2\x80\x8b";

class Collector final : public MaskedSink {
 public:
  void onMasked(MaskedBytes bytes) override { text.append(bytes.view()); }
  std::string text;
};

struct Setup {
  Setup() {
    KnownSecrets known;
    if (known.add(kSecret) != KnownSecrets::Added::kOk || known.add("xabxab") != KnownSecrets::Added::kOk)
      std::abort();
    secrets = std::move(known).freeze();
  }
  PatternSet patterns;
  std::shared_ptr<const LiteralAutomaton> secrets;
};

void require(bool holds) {
  if (!holds) std::abort();
}

void replaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string mask(const Setup& setup, std::string_view raw, unsigned columns, std::uint8_t cuts) {
  Masker masker(setup.patterns, setup.secrets);
  masker.setColumns(columns);
  Collector sink;
  for (unsigned step = cuts; !raw.empty(); step = step * 5 + 3) {
    const std::size_t size = cuts == 0 ? raw.size() : std::min<std::size_t>(1 + step % 61, raw.size());
    masker.feed(std::as_bytes(std::span(raw.substr(0, size))), {}, sink);
    raw.remove_prefix(size);
  }
  masker.finish(sink);
  require(!masker.withholding());
  return sink.text;
}

// Bytes missing inside the secret: nothing of either half is shown that a pause would not show.
void checkGap(const Setup& setup, std::string_view raw, std::uint8_t cut) {
  const std::size_t before = 1 + cut % (kSecret.size() - 1);
  Masker masker(setup.patterns, setup.secrets);
  Collector sink;
  const auto feed = [&](std::string_view text) { masker.feed(std::as_bytes(std::span(text)), {}, sink); };
  feed(kSecret.substr(0, before));
  masker.gap(1, sink);
  feed(kSecret.substr(before));
  const std::size_t shown = sink.text.size();
  require(sink.text == "[dropped:1]");
  feed(raw);
  masker.finish(sink);
  require(!masker.withholding());
  require(sink.text.find(kSecret, shown) == std::string::npos || raw.find(kUnseen) != std::string_view::npos);
}

void checkWindow(const Setup& setup, std::string_view raw) {
  OutputWindow window({.totalBytes = 256, .headBytes = 64});
  Masker masker(setup.patterns, setup.secrets);
  masker.feed(std::as_bytes(std::span(raw)), {}, window);
  masker.finish(window);
  window.finish();
  std::uint64_t at = 0;
  for (;;) {
    const OutputWindow::Text text = window.read(at, 16);
    for (std::string_view rest = text.text(); !rest.empty();) {
      const CodePoint point = decodeUtf8(rest);
      require(point.status == CodePoint::Status::kValid && !disturbsDisplay(point.value));
      rest.remove_prefix(point.length);
    }
    if (text.next() == at) break;
    at = text.next();
  }
  require(at == window.totalBytes());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Setup setup;  // compiling the patterns is what takes time
  if (size < 2) return 0;
  std::string raw(reinterpret_cast<const char*>(data) + 2, size - 2);
  // A byte 0x01 in the input stands for the secret, 0x02 for one with a code point in it that is not seen.
  replaceAll(raw, "\x01", kSecret);
  replaceAll(raw, "\x02",
             std::string(kSecret.substr(0, 5)) + std::string(kUnseen) + std::string(kSecret.substr(5)));
  const unsigned columns = data[0];
  const std::string whole = mask(setup, raw, columns, 0);
  require(mask(setup, raw, columns, data[1]) == whole);
  std::string seen = whole;
  replaceAll(seen, kUnseen, "");
  require(seen.find(kSecret) == std::string::npos);
  checkGap(setup, raw, data[1]);
  checkWindow(setup, raw);
  return 0;
}
