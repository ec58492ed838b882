// The last step of a change: one rename, which happens whole or not at all, and what can be told of it
// afterwards.
#pragma once

#include <optional>
#include <string>

#include "workers/file/change.h"

namespace factionos::file {

// Where it happens. `directory` is borrowed. What is denied leaves the place as it was, and no temporary; the
// one exception is a displaced file that could not go back, which stays under the temporary name.
struct Landing {
  int directory = -1;
  std::string name;
  std::string temporary;

  // The temporary becomes the file. Denied kChanged if there is one by now.
  [[nodiscard]] std::optional<Denied> create() const;
  // The two change places, and what was displaced is looked at: if it is not what was to be replaced, they
  // change back and nobody's work is lost.
  [[nodiscard]] std::optional<Denied> replace(const Identity& expected, const Sha& sha) const;
  [[nodiscard]] std::optional<Denied> remove(const Identity& expected, const Sha& sha) const;

  void dropTemporary() const;
  // After a crash, for a change that was ready to happen.
  [[nodiscard]] Landed settle(const KeptRecord& record) const;

 private:
  [[nodiscard]] Denied givenUp(int error) const;
  [[nodiscard]] bool isStill(const Identity& expected) const;
  [[nodiscard]] bool temporaryIs(const Sha& sha) const;
  [[nodiscard]] std::optional<Denied> durable() const;
};

}  // namespace factionos::file
