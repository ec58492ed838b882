#include "broker/audit/scan.h"

#include "broker/audit/line_reader.h"

namespace factionos::audit {
namespace {

Breach compareWithHead(const Chain& chain, const Head& head, std::uint64_t offset) {
  if (!chain.last()->line.signature || head.size != offset || !(head.hash == chain.last()->lineHash)) {
    return Breach::kChain;
  }
  if (head.epoch != chain.epoch() || head.epochStart != chain.epochStart() || !head.signedBy(chain.key())) {
    return Breach::kHeadDamaged;
  }
  return Breach::kNone;
}

void walk(Scan& scan, LineReader& reader, const Head& head, const LineVisitor& visit) {
  while (const auto text = reader.next()) {
    Breach found = scan.chain.feed(*text, reader.offset());
    const bool pastHead = scan.chain.last() && scan.chain.last()->line.sequence >= head.sequence;
    if (found != Breach::kNone) {
      if (pastHead && scan.chain.illegible()) return;
      scan.breach = found;
      scan.breachAt = scan.chain.breachAt();
      return;
    }
    const ParsedLine& line = *scan.chain.last();
    if (line.line.sequence == head.sequence) found = compareWithHead(scan.chain, head, reader.offset());
    if (found != Breach::kNone) {
      scan.breach = found;
      scan.breachAt = line.line.sequence;
      return;
    }
    if (line.line.sequence > head.sequence && line.line.signature)
      scan.signedPastHead.push_back(line.line.sequence);
    visit(line);
  }
  const std::uint64_t next = scan.chain.last() ? scan.chain.last()->line.sequence + 1 : 1;
  if (next <= head.sequence) {
    scan.breach = reader.overlong() ? Breach::kMalformed : Breach::kTruncated;
    scan.breachAt = next;
  }
}

}  // namespace

Scan scanLog(const FileDescriptor& file, Chain::Start start, std::uint64_t begin, std::uint64_t size,
             const Head& head, const LineVisitor& visit) {
  Scan scan{.chain = Chain(start)};
  LineReader reader(file, begin, size);
  walk(scan, reader, head, visit);
  if (scan.breach == Breach::kNone) {
    const std::uint64_t end = scan.chain.signedEnd().end;
    scan.tornBytes = size > end ? size - end : 0;
    scan.breach = scan.chain.finish();
    scan.breachAt = scan.breach == Breach::kNone ? 0 : scan.chain.breachAt();
  }
  return scan;
}

}  // namespace factionos::audit
