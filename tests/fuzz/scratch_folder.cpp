#include "tests/fuzz/scratch_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace factionos::fuzz {
namespace {

constexpr const char* kOutside = "outside";

}  // namespace

ScratchFolder::ScratchFolder() {
  path_ = (std::filesystem::temp_directory_path() / "factionos-fuzz-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TreeAndOutside::TreeAndOutside() {
  std::filesystem::create_directories(tree() + "/d");
  std::filesystem::create_directories(root() + "/outside");
  std::ofstream(root() + "/outside/secret") << kOutside;
  std::filesystem::create_symlink("../outside", tree() + "/out");
}

void TreeAndOutside::mustBeUntouchedOutside() const {
  std::ifstream in(root() + "/outside/secret");
  const std::string content(std::istreambuf_iterator<char>(in), {});
  const auto entries = std::distance(std::filesystem::directory_iterator(root() + "/outside"), {});
  if (content != kOutside || entries != 1) std::abort();
}

}  // namespace factionos::fuzz
