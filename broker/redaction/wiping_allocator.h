#pragma once

#include <cstddef>
#include <new>
#include <string>

#include <sodium.h>

namespace factionos::redaction {

// Memory that held secrets is overwritten before it is given back.
template <typename T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <typename U>
  explicit(false) WipingAllocator(const WipingAllocator<U>& /*other*/) noexcept {}

  T* allocate(std::size_t count) { return std::allocator<T>{}.allocate(count); }
  void deallocate(T* memory, std::size_t count) noexcept {
    sodium_memzero(memory, count * sizeof(T));
    std::allocator<T>{}.deallocate(memory, count);
  }
  template <typename U>
  bool operator==(const WipingAllocator<U>& /*other*/) const noexcept {
    return true;
  }
};

// Short strings live inside the object itself, where no allocator sees them: reserve() beyond 15 bytes first.
using SecretString = std::basic_string<char, std::char_traits<char>, WipingAllocator<char>>;

}  // namespace factionos::redaction
