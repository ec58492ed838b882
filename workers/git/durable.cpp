#include "workers/git/durable.h"

#include <fcntl.h>
#include <unistd.h>

#include "workers/git/files.h"

namespace factionos::git {

void makeDurable(const std::vector<int>& files, std::string_view what) {
  // A hint: not every file system takes it, and no directory does.
  for (const int file : files) static_cast<void>(sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE));
  for (const int file : files) mustWrite(fsync(file) == 0, what);
}

void makeAllDurable(int directory, std::string_view what) {
  const sandbox::Fd open = openBeneath(directory, ".", O_RDONLY | O_DIRECTORY);
  mustWrite(open && syncfs(open.get()) == 0, what);
}

}  // namespace factionos::git
