// A session's own temporary directory, where there is no mount namespace to give it a private /tmp.
#pragma once

#include <optional>
#include <string>

#include "sandbox/descriptors.h"

namespace factionos::session {

class Scratch {
 public:
  // Makes "tmp-<random>" (0700) with "tmp" and "home" in it, below `parent`: an existing directory of ours,
  // 0700. Nothing if that does not hold or the directories can't be made.
  static std::optional<Scratch> make(const std::string& parent);

  [[nodiscard]] std::string temporary() const { return path_ + "/tmp"; }
  [[nodiscard]] std::string home() const { return path_ + "/home"; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int parent() const { return parent_.get(); }  // borrowed
  [[nodiscard]] std::string parentPath() const { return path_.substr(0, path_.rfind('/')); }

  // Removes it with all that is in it. Best effort; whatever a dead session leaves lies in the parent, which
  // the broker empties.
  void remove() const noexcept;

 private:
  Scratch(sandbox::Fd parent, std::string name, std::string path);

  sandbox::Fd parent_;
  std::string name_;
  std::string path_;
};

}  // namespace factionos::session
