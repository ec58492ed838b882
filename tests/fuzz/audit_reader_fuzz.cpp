#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "broker/audit/chain.h"
#include "broker/audit/head.h"
#include "broker/audit/line_reader.h"
#include "broker/audit/scan.h"

// What `audit verify` and the next start do with a log and a head that someone else wrote: the first bytes
// are the head file, the rest is the log.
namespace {

using namespace factionos::audit;

[[noreturn]] void broken() {
  __builtin_trap();
}

void checkLine(std::string_view text) {
  const auto parsed = parseLine(text);
  if (!parsed || !(parsed->storedHash == parsed->contentHash)) return;
  // A line that is sound has one text.
  if (encode(parsed->line) != std::string(text) + "\n") broken();
}

void checkLog(const FileDescriptor& file, std::uint64_t size, const Head& head) {
  LineReader reader(file, 0, size);
  while (const auto text = reader.next()) checkLine(*text);
  if (reader.offset() > size) broken();
  for (const Chain::Start start : {Chain::Start::kGenesis, Chain::Start::kSeal}) {
    const Scan scan = scanLog(file, start, 0, size, head, [](const ParsedLine&) {});
    if (scan.tornBytes > size) broken();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  HeadImage image{};
  const std::size_t headBytes = std::min(size, image.size());
  std::memcpy(image.data(), data, headBytes);
  const HeadPair heads = decodeHeads(image);
  const FileDescriptor file(::memfd_create("log", MFD_CLOEXEC));
  const std::size_t logBytes = size - headBytes;
  if (file.get() < 0 || ::write(file.get(), data + headBytes, logBytes) != static_cast<ssize_t>(logBytes))
    return 0;
  // A small number lets lines fall on both sides of the head.
  checkLog(file, logBytes, heads.newest.value_or(Head{.sequence = size % 4}));
  return 0;
}
