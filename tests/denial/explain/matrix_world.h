// The files, names, devices and peers that the cells of the matrix are about.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness.h"
#include "sandbox/descriptors.h"

namespace factionos::test {

struct MatrixPeer {
  std::string target;  // as `explain` takes it
  int listener = -1;   // of this process: whether the probe came is seen here; -1: nobody listens
};

class MatrixWorld {
 public:
  explicit MatrixWorld(const World& world);
  ~MatrixWorld();
  MatrixWorld(const MatrixWorld&) = delete;
  MatrixWorld& operator=(const MatrixWorld&) = delete;

  // Of the operations on files, without white space.
  [[nodiscard]] const std::vector<std::string>& targets() const { return targets_; }
  [[nodiscard]] const std::vector<MatrixPeer>& peers() const { return peers_; }
  [[nodiscard]] std::uint16_t apiPort() const { return apiPort_; }
  [[nodiscard]] std::string programs() const { return world_.outside + "/programs"; }
  [[nodiscard]] std::string data() const { return world_.outside + "/data"; }

  // Whether anybody came since the last question.
  static bool heard(int listener);

 private:
  void fillWorkspace();
  void fillRepository();
  void fillOutside();
  void listen();
  void nameMachine();
  std::uint16_t listenOn(int family, int type);
  void listenAt(const std::string& path);

  const World& world_;
  std::string hidden_;  // a file in the machine's /tmp
  std::vector<std::string> targets_;
  std::vector<MatrixPeer> peers_;
  std::vector<sandbox::Fd> open_;
  std::uint16_t apiPort_ = 0;
  pid_t other_ = 0;  // a process of the same user, outside
};

}  // namespace factionos::test
