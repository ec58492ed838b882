// factionosd with the same code, sandbox and files as the shipped one, that stops itself where a test says
// and whose disk and wall clock a test commands:
//
//   factionosd-faulty CONTROL-FILE arguments of factionosd…
//
// Control::places: a list by comma of places in the order in which they are reached; at each the process
// stops (SIGSTOP) and the test decides how it goes on. "a/b": b is looked for only once a was passed. Empty:
// nowhere.
#include <cerrno>
#include <csignal>
#include <ctime>
#include <deque>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/daemon.h"
#include "tests/crash/control.h"
#include "tests/crash/places.h"

namespace {

using namespace factionos;

test::Control* control = nullptr;

bool isFile(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// True, with errno set, if the disk fails now.
bool fails(const std::atomic<int> test::Control::*which, int fd) {
  const int error = control == nullptr ? 0 : (control->*which).load();
  if (error == 0 || !isFile(fd)) return false;
  ++control->failed;
  errno = error;
  return true;
}

template <typename... Arguments>
long call(long number, Arguments... arguments) {
  return ::syscall(number, arguments...);
}

class Stops final : public broker::StepPoints, public audit::FaultPoints {
 public:
  void reach(broker::Step step, broker::Edge edge) override { passed(test::placeOf(step, edge)); }
  void reach(audit::FaultPoint point) override { passed(test::placeOf(point)); }

 private:
  struct Place {
    std::string name;
    bool stops;
  };

  void read(std::string_view list) {
    places_.clear();
    while (!list.empty()) {
      const auto end = list.find_first_of(",/");
      places_.push_back({std::string(list.substr(0, end)), end == list.npos || list[end] == ','});
      list = end == list.npos ? std::string_view() : list.substr(end + 1);
    }
  }

  void passed(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (const auto set = control->placesSet.load(); std::exchange(read_, set) != set)
      read(control->places.data());
    if (places_.empty() || places_.front().name != name) return;
    const bool stops = places_.front().stops;
    places_.pop_front();
    if (!stops) return;
    // To this very thread, so that it does not run on while the others are being stopped.
    call(SYS_tgkill, ::getpid(), static_cast<pid_t>(call(SYS_gettid)), SIGSTOP);
  }

  std::mutex mutex_;
  std::deque<Place> places_;
  std::uint64_t read_ = 0;  // placesSet when places_ was read
};

}  // namespace

// These take the place of libc's for everybody in this process, SQLite included.
extern "C" {

ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  return fails(&test::Control::readError, fd) ? -1 : call(SYS_pread64, fd, data, size, offset);
}
ssize_t pread64(int fd, void* data, size_t size, off64_t offset) {
  return fails(&test::Control::readError, fd) ? -1 : call(SYS_pread64, fd, data, size, offset);
}
ssize_t write(int fd, const void* data, size_t size) {
  return fails(&test::Control::writeError, fd) ? -1 : call(SYS_write, fd, data, size);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return fails(&test::Control::writeError, fd) ? -1 : call(SYS_pwrite64, fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  return fails(&test::Control::writeError, fd) ? -1 : call(SYS_pwrite64, fd, data, size, offset);
}
int fsync(int fd) {
  return fails(&test::Control::syncError, fd) ? -1 : static_cast<int>(call(SYS_fsync, fd));
}
int fdatasync(int fd) {
  return fails(&test::Control::syncError, fd) ? -1 : static_cast<int>(call(SYS_fdatasync, fd));
}
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(call(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME && control != nullptr) {
    const auto ms = control->clockShiftMs.load();
    time->tv_sec += ms / 1000;
    time->tv_nsec += (ms % 1000) * 1'000'000;
    if (time->tv_nsec < 0) --time->tv_sec, time->tv_nsec += 1'000'000'000;
    if (time->tv_nsec >= 1'000'000'000) ++time->tv_sec, time->tv_nsec -= 1'000'000'000;
  }
  return result;
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int file = ::open(argv[1], O_RDWR | O_CLOEXEC);
  void* page = ::mmap(nullptr, sizeof(test::Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || page == MAP_FAILED) return 2;
  ::close(file);
  control = static_cast<test::Control*>(page);
  Stops stops;
  argv[1] = argv[0];
  return broker::daemonMain(argc - 1, argv + 1,
                            {.steps = &stops, .writes = &stops, .settleAgain = 2 * kj::SECONDS});
}
