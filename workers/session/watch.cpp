#include "workers/session/watch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "sandbox/descriptors.h"

namespace factionos::session {
namespace {

std::string readSmall(const std::string& path) {
  const sandbox::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = read(file.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// The decimal numbers of `text`, whatever stands between them.
std::vector<std::uint64_t> numbers(std::string_view text) {
  std::vector<std::uint64_t> found;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) found.push_back(number);
    at = next == at ? at + 1 : next;
  }
  return found;
}

class Directory {
 public:
  explicit Directory(const std::string& path) : stream_(opendir(path.c_str())) {}
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    if (stream_ != nullptr) closedir(stream_);
  }
  // The next entry that is a number, or 0 at the end.
  std::uint64_t nextNumber() {
    while (stream_ != nullptr) {
      const dirent* entry = readdir(stream_);
      if (entry == nullptr) return 0;
      const std::vector<std::uint64_t> number = numbers(static_cast<const char*>(entry->d_name));
      if (!number.empty()) return number.front();
    }
    return 0;
  }

 private:
  DIR* stream_;
};

std::vector<std::uint64_t> childrenOf(const std::string& process) {
  std::vector<std::uint64_t> children;
  const std::string tasks = process + "/task";
  Directory directory(tasks);
  for (std::uint64_t task = directory.nextNumber(); task != 0; task = directory.nextNumber()) {
    const std::vector<std::uint64_t> found =
        numbers(readSmall(tasks + "/" + std::to_string(task) + "/children"));
    children.insert(children.end(), found.begin(), found.end());
  }
  return children;
}

std::uint64_t residentBytes(const std::string& process) {
  const std::vector<std::uint64_t> fields = numbers(readSmall(process + "/statm"));
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return fields.size() > 1 ? fields[1] * page : 0;
}

std::uint64_t proportionalBytes(const std::string& process) {
  const std::string text = readSmall(process + "/smaps_rollup");
  const std::size_t at = text.find("\nPss:");
  if (at == std::string::npos) return residentBytes(process);
  const std::vector<std::uint64_t> fields = numbers(text.substr(at, text.find('\n', at + 1) - at));
  return fields.empty() ? 0 : fields.front() * 1024;
}

// utime stime cutime cstime are fields 14 to 17; the name, field 2, may hold anything but ends at the last
// ')'.
std::uint64_t cpuMs(const std::string& process) {
  const std::string text = readSmall(process + "/stat");
  const std::size_t name = text.rfind(')');
  if (name == std::string::npos || name + 3 >= text.size()) return 0;
  std::uint64_t ticks = 0;
  std::size_t field = 3;
  for (std::size_t at = name + 2; at < text.size() && field <= 17; ++field) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::uint64_t value = 0;
    if (field >= 14) std::from_chars(text.data() + at, text.data() + end, value);
    ticks += value;
    at = end + 1;
  }
  return ticks * 1000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
}

}  // namespace

TreeUse measureTree(Memory memory, std::uint32_t most) {
  TreeUse use;
  std::vector<std::uint64_t> open = childrenOf("/proc/self");
  while (!open.empty() && use.processes <= most) {
    const std::string process = "/proc/" + std::to_string(open.back());
    open.pop_back();
    ++use.processes;
    use.memoryBytes += memory == Memory::kResident ? residentBytes(process) : proportionalBytes(process);
    use.cpuMs += cpuMs(process);
    const std::vector<std::uint64_t> children = childrenOf(process);
    open.insert(open.end(), children.begin(), children.end());
  }
  return use;
}

// A directory has a link for itself, one from its parent, and one for each directory in it: here, for each
// thread.
std::uint32_t tasksOfUser() {
  std::uint32_t tasks = 0;
  Directory processes("/proc");
  for (std::uint64_t process = processes.nextNumber(); process != 0; process = processes.nextNumber()) {
    struct stat status {};
    const std::string directory = "/proc/" + std::to_string(process);
    if (stat(directory.c_str(), &status) != 0 || status.st_uid != getuid()) continue;
    if (stat((directory + "/task").c_str(), &status) == 0 && status.st_nlink > 2) {
      tasks += static_cast<std::uint32_t>(status.st_nlink - 2);
    }
  }
  return tasks;
}

// proc_sysvipc(5): of the sixteen columns the last two are resident and swapped bytes. The first line names
// them.
std::uint64_t segmentBytes() {
  constexpr std::size_t kColumns = 16;
  const std::string text = readSmall("/proc/sysvipc/shm");
  std::uint64_t bytes = 0;
  std::size_t end = 0;
  for (std::size_t at = text.find('\n'); at < text.size(); at = end) {
    end = std::min(text.find('\n', at + 1), text.size());
    const std::vector<std::uint64_t> columns = numbers(std::string_view(text).substr(at, end - at));
    if (columns.size() == kColumns) bytes += columns[kColumns - 2] + columns[kColumns - 1];
  }
  return bytes;
}

std::uint64_t tmpfsBytes(const char* path) {
  struct statfs status {};
  if (statfs(path, &status) != 0 || status.f_type != TMPFS_MAGIC) return 0;
  return static_cast<std::uint64_t>(status.f_blocks - status.f_bfree) *
         static_cast<std::uint64_t>(status.f_bsize);
}

}  // namespace factionos::session
