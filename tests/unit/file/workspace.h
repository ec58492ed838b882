// A workspace on disk, and a directory beside it that nobody may touch.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sodium.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "workers/file/change.h"

namespace factionos::file::test {

class Workspace {
 public:
  Workspace() {
    if (sodium_init() < 0) std::abort();
    std::string pattern = std::filesystem::temp_directory_path() / "file-XXXXXX";
    root_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(path());
    std::filesystem::create_directories(outside());
    fd_ = sandbox::openFile(path().c_str(), O_PATH | O_DIRECTORY);
  }
  ~Workspace() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::string path(const std::string& name = {}) const {
    return root_ + "/work" + (name.empty() ? "" : "/" + name);
  }
  [[nodiscard]] std::string outside(const std::string& name = {}) const {
    return root_ + "/outside" + (name.empty() ? "" : "/" + name);
  }

  static void put(const std::string& where, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(where).parent_path());
    std::ofstream(where, std::ios::binary) << content;
  }
  static std::string get(const std::string& where) {
    std::ifstream in(where, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  std::string root_;
  sandbox::Fd fd_;
};

// "act_…" ids that order as they are made.
inline std::string actionId(int number) {
  std::string digits = std::to_string(number);
  return "act_" + std::string(26 - digits.size(), '0') + digits;
}

template <typename T>
std::string codeOf(const Or<T>& value) {
  const Denied* denied = deniedIn(value);
  return denied == nullptr ? "" : std::string(denied->code);
}

inline Change write(std::string path, std::string_view content, Parents parents = Parents::kMustExist) {
  return {.path = std::move(path), .what = Write{.content = content, .parents = parents}};
}
inline Change edit(std::string path, std::string_view from, std::string_view to, bool everywhere = false) {
  return {.path = std::move(path), .what = Edit{.oldText = from, .newText = to, .everywhere = everywhere}};
}
inline Change erase(std::string path) {
  return {.path = std::move(path), .what = Delete{}};
}
inline Change restore(std::string path, std::string action = {}) {
  return {.path = std::move(path), .what = Restore{.action = std::move(action)}};
}

inline Changer::Approved approved(const Changer::Preview& preview) {
  return {.before = preview.before, .after = preview.after};
}

// Nothing of ours lies in the directory beside what is to be there.
inline void expectNoLitter(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    EXPECT_FALSE(isTemporary(entry.path().filename().string())) << entry.path();
}

// Preview and apply, as the broker does. The denial's code, or empty.
inline std::string make(Changer& changer, const Change& change, int number) {
  const auto preview = changer.preview(change, 1024);
  if (deniedIn(preview) != nullptr) return codeOf(preview);
  return codeOf(
      changer.apply(change, actionId(number), "write", approved(std::get<Changer::Preview>(preview))));
}

}  // namespace factionos::file::test
