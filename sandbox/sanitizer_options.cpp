// Part of the sanitizer builds of what enters a sandbox. Reading its own memory as the leak check does takes
// a thread and ptrace, which no profile allows; the unit tests, which enter none, look for leaks.
extern "C" const char* __asan_default_options();

extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
