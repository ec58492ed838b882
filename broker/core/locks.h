#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace factionos::broker {

// What actions of this process hold while they are under way: a file, a repository, a session. Names are the
// families' own ("file:demo/src/a.c"), live in memory alone, and are never told to anybody.
class ResourceLocks {
 public:
  class Held {
   public:
    Held(ResourceLocks& locks, std::vector<std::string> names) : locks_(locks), names_(std::move(names)) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      for (const auto& name : names_) locks_.held_.erase(name);
    }

   private:
    ResourceLocks& locks_;
    std::vector<std::string> names_;
  };

  // All of them or, null, none: nobody waits for a lock, so none can wait for ever.
  std::unique_ptr<Held> take(std::vector<std::string> names) {
    for (const auto& name : names) {
      if (held_.contains(name)) return nullptr;
    }
    for (const auto& name : names) held_.insert(name);
    return std::make_unique<Held>(*this, std::move(names));
  }

 private:
  std::set<std::string> held_;
};

}  // namespace factionos::broker
