#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/home/home.h"

namespace factionos::home::testing {

// A directory of its own for one test, resolved, removed at the end.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "factionos-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = std::filesystem::canonical(name).string();
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

inline void put(const std::string& path, std::string_view contents, mode_t mode = 0600) {
  std::ofstream(path, std::ios::binary) << contents;
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

inline std::string get(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline mode_t modeOf(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

// A fresh home below a fresh directory.
class HomeTest : public ::testing::Test {
 protected:
  TempDir dir;
  std::string path = dir / "home";
  Home home = make();

  Home make() {
    auto made = Home::create(path);
    if (!made) ADD_FAILURE() << made.problem().text();
    return std::move(made).value();
  }
};

}  // namespace factionos::home::testing
