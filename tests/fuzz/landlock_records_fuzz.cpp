// What may stand in a record of the kernel's audit: paths and names that anybody chose.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sandbox/landlock_records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace factionos::sandbox;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const LandlockRecord access = parseLandlockRecord(kLandlockAccessRecord, text);
  if (const auto* denial = std::get_if<LandlockDenial>(&access)) {
    if (denial->domain == 0 || denial->path.size() > kMostRecordPath) std::abort();
  }
  if (std::holds_alternative<LandlockDomain>(access)) std::abort();
  const LandlockRecord domain = parseLandlockRecord(kLandlockDomainRecord, text);
  if (const auto* made = std::get_if<LandlockDomain>(&domain)) {
    if (made->domain == 0 || made->maker < 0) std::abort();
  }
  return 0;
}
