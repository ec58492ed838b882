// The ids of http.capnp's annotations, for which the C++ generator makes no names. Cap'n Proto derives them
// from the file's id and the annotation's name, so they change only when an annotation is renamed; `capnp
// compile -ocapnp http.capnp` prints them. Shapes and RouteTable refuse an annotation that is not among
// these.
#pragma once

#include <cstdint>

namespace factionos::json::annotation {

inline constexpr std::uint64_t kRoute = 0x977be43c0ea8d152;
inline constexpr std::uint64_t kMutating = 0xd67e0656b02cf995;
inline constexpr std::uint64_t kSnapshot = 0xf3f92670db04fc5b;
inline constexpr std::uint64_t kIn = 0x9d1d8b40e44c285d;
inline constexpr std::uint64_t kRequired = 0xd0beb1c77dc19461;
inline constexpr std::uint64_t kText = 0x98a2ff6c9dc4ca2d;
inline constexpr std::uint64_t kItems = 0xe2a40e43ab91794f;
inline constexpr std::uint64_t kRange = 0xec914769ce14dd0c;
inline constexpr std::uint64_t kTime = 0xa38468404d6c548c;
inline constexpr std::uint64_t kOmitZero = 0xc35041aec99eb60a;
inline constexpr std::uint64_t kInternal = 0xf8d2468357ed880c;
inline constexpr std::uint64_t kJsonName = 0xf79a3eadebc24c8f;
inline constexpr std::uint64_t kBodyDigest = 0xe937894cbf93a790;
inline constexpr std::uint64_t kTolerant = 0xaa4e8b9bad909804;
inline constexpr std::uint64_t kProblem = 0xf6a9d541b4717b85;

}  // namespace factionos::json::annotation
