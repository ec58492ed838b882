// Dangerous relaxations. They stand in a header of their own so that a search for its name finds every user.
#pragma once

#include "sandbox/seccomp.h"

namespace factionos::sandbox::relaxed {

// mmap, mprotect and pkey_mprotect with PROT_EXEC: new code may appear in this process.
Family executableMemory();

// fork vfork, clone without any CLONE_NEW* flag: another process.
Family forking();

// execve execveat: another program, under the same filter.
Family executing();

}  // namespace factionos::sandbox::relaxed
