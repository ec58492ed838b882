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

// One that holds `tree`, which a worker is given, and `outside`, which lies beside it.
class TreeAndOutside {
 public:
  TreeAndOutside();
  const std::string& root() const { return folder_.path(); }
  std::string tree() const { return root() + "/tree"; }
  // Ends the fuzzer unless the directory beside the tree is as it was.
  void mustBeUntouchedOutside() const;

 private:
  ScratchFolder folder_;
};

}  // namespace factionos::fuzz
