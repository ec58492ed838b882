#include "workers/common/descriptors.h"

#include <unistd.h>

namespace factionos::worker {

std::vector<int> ownDescriptors(std::initializer_list<int> more) {
  std::vector<int> own = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, kLine, kEvents};
  own.insert(own.end(), more);
  return own;
}

}  // namespace factionos::worker
