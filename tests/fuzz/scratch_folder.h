#pragma once

#include <string>

namespace factionos::fuzz {

// A directory in TMPDIR, removed with the object. tests/fuzz/run gives a TMPDIR in memory, and removes what a
// fuzzer that ended badly left behind.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace factionos::fuzz
