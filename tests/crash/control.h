#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace factionos::test {

// A page that the test and factionosd-faulty share. What is zero changes nothing.
struct Control {
  // Where it is to stop (see faulty_broker.cpp), read anew whenever `placesSet` has risen.
  std::array<char, 256> places;
  std::atomic<std::uint64_t> placesSet;
  std::atomic<int> readError;   // errno of every read from a file at a place, as a database reads
  std::atomic<int> writeError;  // errno of every write to a file
  std::atomic<int> syncError;   // errno of every fsync and fdatasync
  std::atomic<std::int64_t> clockShiftMs;
  std::atomic<std::uint64_t> failed;  // calls that failed for it
};

}  // namespace factionos::test
