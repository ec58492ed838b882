#include "sandbox/verify/marshal.h"

#include <sstream>

namespace factionos::sandbox::verify {
namespace {

constexpr char kField = '\x1f';  // in no text of ours
constexpr std::string_view kEnd = "end";

class Writer {
 public:
  template <typename Value>
  Writer& add(const Value& value) {
    out_ << value << kField;
    return *this;
  }
  Writer& add(const Seen& seen) {
    return add(static_cast<int>(seen.ending))
        .add(seen.happened)
        .add(seen.error)
        .add(seen.signal)
        .add(seen.detail);
  }
  void endLine() { out_ << '\n'; }
  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

class Reader {
 public:
  explicit Reader(const std::string& line) : in_(line) {}
  std::string text() {
    std::string field;
    std::getline(in_, field, kField);
    return field;
  }
  int number() {
    const std::string field = text();
    return field.empty() ? 0 : std::stoi(field);
  }
  Seen seen() {
    Seen seen;
    seen.ending = static_cast<Seen::Ending>(number());
    seen.happened = number() != 0;
    seen.error = number();
    seen.signal = number();
    seen.detail = text();
    return seen;
  }

 private:
  std::istringstream in_;
};

Finding readFinding(Reader& reader, std::span<const Guarantee> guarantees) {
  Finding finding;
  finding.guarantee = &guarantees[static_cast<std::size_t>(reader.number())];
  finding.verdict = static_cast<Verdict>(reader.number());
  finding.counts = reader.number() != 0;
  finding.cause = reader.text();
  finding.seen = reader.text();
  finding.probes.resize(static_cast<std::size_t>(reader.number()));
  for (Probe& probe : finding.probes) {
    probe.act = findAct(reader.text());
    probe.verdict = static_cast<Verdict>(reader.number());
    probe.cause = reader.text();
    probe.control = reader.seen();
    probe.alone = reader.seen();
    probe.whole = reader.seen();
  }
  return finding;
}

}  // namespace

std::string written(std::span<const Finding> findings, std::size_t tries,
                    std::span<const Guarantee> guarantees) {
  Writer writer;
  for (const Finding& finding : findings) {
    writer.add(finding.guarantee - guarantees.data())
        .add(static_cast<int>(finding.verdict))
        .add(finding.counts)
        .add(finding.cause)
        .add(finding.seen)
        .add(finding.probes.size());
    for (const Probe& probe : finding.probes) {
      writer.add(probe.act->name).add(static_cast<int>(probe.verdict)).add(probe.cause);
      writer.add(probe.control).add(probe.alone).add(probe.whole);
    }
    writer.endLine();
  }
  writer.add(kEnd).add(tries).endLine();
  return writer.text();
}

std::optional<Share> parsed(const std::string& text, std::span<const Guarantee> guarantees) {
  Share share;
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    Reader reader(line);
    if (line.starts_with(kEnd)) {
      reader.text();
      share.tries = static_cast<std::size_t>(reader.number());
      return share;
    }
    share.findings.push_back(readFinding(reader, guarantees));
  }
  return std::nullopt;
}

}  // namespace factionos::sandbox::verify
