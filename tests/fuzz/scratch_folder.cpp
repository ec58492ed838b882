#include "tests/fuzz/scratch_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace factionos::fuzz {

ScratchFolder::ScratchFolder() {
  path_ = (std::filesystem::temp_directory_path() / "factionos-fuzz-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace factionos::fuzz
