#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "broker/audit/chain.h"
#include "broker/audit/head.h"

namespace factionos::audit {

// What a walk over the log found, measured against a head that was read before the log's size was.
struct Scan {
  Chain chain;
  Breach breach = Breach::kNone;
  std::uint64_t breachAt = 0;
  std::uint64_t tornBytes = 0;  // unfinished bytes past the last signed line
  std::vector<std::uint64_t>
      signedPastHead{};  // one number a batch that the head does not know: its last line's
};

using LineVisitor = std::function<void(const ParsedLine&)>;

// Walks `file` from `begin` to `size`. Throws FileError if it can't be read.
Scan scanLog(const FileDescriptor& file, Chain::Start start, std::uint64_t begin, std::uint64_t size,
             const Head& head, const LineVisitor& visit);

}  // namespace factionos::audit
