#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <kj/refcount.h>

#include "broker/executors/live_session.h"

namespace factionos::broker {

// The sessions that this broker remembers: all that live, and the last kMaxEnded that ended, with their
// output.
class SessionBook {
 public:
  static constexpr std::size_t kMaxEnded = 64;

  SessionBook() = default;
  SessionBook(const SessionBook&) = delete;
  SessionBook& operator=(const SessionBook&) = delete;
  // A call of a client that is under way holds its session longer than the book does, up to the loop's own
  // end.
  ~SessionBook() noexcept(false) {
    for (auto& [id, session] : sessions_) session->abandon();
  }

  void add(kj::Own<LiveSession> session) {
    const auto id = session->facts().id.text();
    sessions_.emplace(id, kj::mv(session));
  }
  LiveSession* find(std::string_view id) {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second.get();
  }
  // Drops the oldest ended ones beyond the bound; ids are time-ordered.
  void trim() {
    std::size_t ended = sessions_.size() - live();
    for (auto each = sessions_.begin(); each != sessions_.end() && ended > kMaxEnded;) {
      if (!each->second->ended()) {
        ++each;
        continue;
      }
      each = sessions_.erase(each);
      --ended;
    }
  }
  std::uint32_t live() const {
    std::uint32_t count = 0;
    for (const auto& [id, session] : sessions_) count += session->ended() ? 0U : 1U;
    return count;
  }
  std::map<std::string, kj::Own<LiveSession>, std::less<>>& all() { return sessions_; }

 private:
  std::map<std::string, kj::Own<LiveSession>, std::less<>> sessions_;
};

}  // namespace factionos::broker
