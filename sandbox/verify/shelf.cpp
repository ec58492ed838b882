#include "sandbox/verify/shelf.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <new>
#include <system_error>

#include <sys/mman.h>

#include "sandbox/self_check.h"

namespace factionos::sandbox::verify {
namespace {

constexpr std::size_t kPrograms = 128;  // two or three for each profile
constexpr std::size_t kWords = std::size_t{1} << 18;
constexpr std::size_t kInstructions = std::size_t{1} << 18;

struct Place {
  std::size_t word = 0;
  std::size_t words = 0;
  std::size_t instruction = 0;
  std::size_t instructions = 0;
};

}  // namespace

struct Shelf::Shared {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;  // who dies meanwhile leaves it so
  std::atomic<std::size_t> count{0};         // rises when all of a program lies there
  std::array<Place, kPrograms> places;
  std::array<std::uint64_t, kWords> words;
  std::array<sock_filter, kInstructions> instructions;
};

Shelf::Shelf() {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory");
  shared_ = static_cast<Shared*>(memory);  // all zero, which is what the members begin with
}

Shelf::~Shelf() {
  munmap(shared_, sizeof(Shared));
}

void Shelf::provide(std::span<const Policy> policies) {
  bool first = true;
  for (const Policy& policy : policies) {
    // enterInside() for the first, narrow() for the others.
    if (policy.seccomp.scope == SeccompScope::kFiltered) add(first ? withSelfCheck(policy) : policy.seccomp);
    first = false;
  }
  used_ = programs();
  useBuiltPrograms(used_);
}

void Shelf::add(const SeccompPolicy& policy) {
  used_ = programs();
  useBuiltPrograms(used_);
  if (findBuiltProgram(policy) != nullptr || shared_->busy.test_and_set()) return;
  const RulesForm form = rulesForm(policy);
  const Program program = compileFor(policy, kAnyProcess);
  const std::size_t count = shared_->count;
  const Place last = count == 0 ? Place{} : shared_->places[count - 1];
  const Place place{last.word + last.words, form.size(), last.instruction + last.instructions,
                    program.instructions.size()};
  if (count < kPrograms && place.word + place.words <= kWords &&
      place.instruction + place.instructions <= kInstructions) {
    std::ranges::copy(form, shared_->words.begin() + static_cast<std::ptrdiff_t>(place.word));
    std::ranges::copy(program.instructions,
                      shared_->instructions.begin() + static_cast<std::ptrdiff_t>(place.instruction));
    shared_->places[count] = place;
    shared_->count = count + 1;
  }
  shared_->busy.clear();
}

std::vector<BuiltProgram> Shelf::programs() const {
  std::vector<BuiltProgram> programs;
  const std::size_t count = shared_->count;
  for (std::size_t each = 0; each < count; ++each) {
    const Place& place = shared_->places[each];
    programs.push_back({std::span(shared_->words).subspan(place.word, place.words),
                        std::span(shared_->instructions).subspan(place.instruction, place.instructions)});
  }
  return programs;
}

}  // namespace factionos::sandbox::verify
