#include "workers/file/meaning.h"

#include <array>
#include <climits>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/file/place.h"

namespace factionos::file {
namespace {

constexpr int kMostLinks = 40;  // as the kernel's own limit

using Names = std::vector<std::string>;  // the next one last

void pushNames(Names& names, std::string_view path) {
  Names added;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") added.emplace_back(name);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  names.insert(names.end(), added.rbegin(), added.rend());
}

std::string textOf(int link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = readlinkat(link, "", text.data(), text.size());
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

class Follow {
 public:
  Follow(int workspace, std::string_view root, std::string_view path) : workspace_(workspace), root_(root) {
    pushNames(names_, path);
  }

  std::string run() {
    while (!names_.empty()) {
      const std::string name = std::move(names_.back());
      names_.pop_back();
      if (!(name == ".." ? ascend() : descend(name))) return {};
    }
    std::string path;
    for (const Step& step : steps_) path += (path.empty() ? "" : "/") + step.name;
    return path;
  }

 private:
  struct Step {
    std::string name;
    sandbox::Fd handle;  // empty: there is nothing, or nothing that can be looked into
  };

  bool ascend() {
    if (steps_.empty()) return false;
    steps_.pop_back();
    return true;
  }
  bool descend(const std::string& name) {
    const int directory = steps_.empty() ? workspace_ : steps_.back().handle.get();
    sandbox::Fd next = directory >= 0 ? openHere(directory, name, O_PATH) : sandbox::Fd();
    struct stat status {};
    if (next && fstat(next.get(), &status) == 0 && S_ISLNK(status.st_mode)) return follow(textOf(next.get()));
    if (steps_.size() == kDeepest) return false;
    steps_.push_back({name, std::move(next)});
    return true;
  }
  bool follow(std::string_view text) {
    if (text.empty() || ++links_ > kMostLinks || names_.size() > kDeepest) return false;
    if (text.front() == '/') {
      if (root_.empty() || !text.starts_with(root_)) return false;
      text.remove_prefix(root_.size());
      if (!text.empty() && text.front() != '/') return false;
      steps_.clear();
    }
    pushNames(names_, text);
    return true;
  }

  int workspace_;
  std::string_view root_;
  Names names_;
  std::vector<Step> steps_;  // from the workspace down
  int links_ = 0;
};

}  // namespace

std::string rootOf(int workspace) {
  std::array<char, PATH_MAX> path{};
  const auto link = "/proc/self/fd/" + std::to_string(workspace);
  const ssize_t size = readlinkat(AT_FDCWD, link.c_str(), path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

std::string meaningOf(int workspace, std::string_view root, std::string_view path) {
  return Follow(workspace, root, path).run();
}

}  // namespace factionos::file
