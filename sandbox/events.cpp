#include "sandbox/events.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace factionos::sandbox {
namespace {

constexpr std::uint32_t kMagic = 0x46454f53;   // no zero byte, and no text that a stray printf would write
constexpr std::uint64_t kHighestErrno = 4095;  // the kernel's MAX_ERRNO
constexpr std::uint64_t kHighestCall = 0xffffffff;

struct Record {
  std::uint32_t magic;
  std::uint32_t code;
  std::array<std::uint64_t, 3> numbers;
};
static_assert(sizeof(Record) == kEventBytes);

bool inRange(const Event& event) {
  const auto& [first, second, third] = event.numbers;
  switch (event.code) {
    case EventCode::kEntered:
      return first <= 0xffff && second <= 2 && third <= 0xff;
    case EventCode::kTrapped:
      return first <= kHighestCall && second <= 0xffffffff && third == 0;
    case EventCode::kSetupFailed:
      return first >= 1 && first <= kLastStep && second <= kHighestErrno && third == 0;
    default:
      return true;
  }
}

}  // namespace

EventBytes encode(const Event& event) {
  const Record record{kMagic, static_cast<std::uint32_t>(event.code), event.numbers};
  EventBytes bytes;
  std::memcpy(bytes.data(), &record, sizeof record);
  return bytes;
}

std::optional<Event> parseEvent(std::span<const std::byte, kEventBytes> bytes) {
  Record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  if (record.magic != kMagic || record.code == 0 || record.code > kLastEventCode) return std::nullopt;
  const Event event{static_cast<EventCode>(record.code), record.numbers};
  if (!inRange(event)) return std::nullopt;
  return event;
}

void writeEvent(int descriptor, const Event& event) noexcept {
  const EventBytes bytes = encode(event);
  const int saved = errno;
  ssize_t written;
  do {
    written = write(descriptor, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  errno = saved;
}

Event eventOf(const SetupError& error) {
  const int number = error.error() < 0 ? 0 : error.error();
  return {EventCode::kSetupFailed,
          {static_cast<std::uint64_t>(error.step()), static_cast<std::uint64_t>(number), 0}};
}

}  // namespace factionos::sandbox
