#include "workers/git/durable.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "workers/git/files.h"

namespace factionos::git {

void makeDurable(const std::vector<int>& files, std::string_view what) {
  // They wait, and compute nothing.
  constexpr std::size_t kMostThreads = 8;
  std::atomic<std::size_t> next = 0;
  std::atomic<int> failed = 0;
  const auto work = [&files, &next, &failed]() {
    for (std::size_t at = next++; at < files.size(); at = next++)
      if (fsync(files[at]) != 0) failed = errno;
  };
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < std::min(files.size(), kMostThreads)) others.emplace_back(work);
    } catch (const std::system_error&) {
      // Those that there are do it.
    }
    work();
  }
  errno = failed;
  mustWrite(failed == 0, what);
}

void makeAllDurable(int directory, std::string_view what) {
  const sandbox::Fd open = openBeneath(directory, ".", O_RDONLY | O_DIRECTORY);
  mustWrite(open && syncfs(open.get()) == 0, what);
}

}  // namespace factionos::git
