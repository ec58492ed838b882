// What the C library opens for itself: the loader its libraries, the rest locales and databases. Each program
// does so when it starts, and hardly opens as many files after that: of what one `cc -c` opens for reading
// these are three quarters. Who supervises opens only to see what is denied need not hear of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <linux/seccomp.h>

#include "sandbox/seccomp.h"

namespace factionos::sandbox {

// Where within its page (0 to 4095, ascending) the code lies that such an open returns to; whatever the
// library's address, that is the same in every program that is linked to it. Asked of the library itself, by
// a child that lets it open things and is stopped at each: 1 ms. Without the places that a program's own
// opens return to; empty where these are all that there are (musl's), or where the child could not ask. The
// process must have one thread, and no filter yet that keeps it from these steps.
std::vector<std::uint32_t> libraryOpens();

// The call that it is about: openat for reading with O_CLOEXEC alone.
seccomp_data libraryOpen();

// `program`, but that call is allowed if it returns to one of `places` (at most 64; more are left out). So is
// that of any program whose code happens, or was made, to lie there: meant for what is only counted, never
// for what is judged.
Program withoutOpens(const Program& program, std::span<const std::uint32_t> places);

}  // namespace factionos::sandbox
