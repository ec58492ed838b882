#include "broker/audit/secure_file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace factionos::audit {
namespace {

std::string describe(std::string_view role, std::string_view problem, int error) {
  std::string text(role);
  text.append(": ").append(problem);
  if (error != 0) text.append(": ").append(std::generic_category().message(error));
  return text;
}

}  // namespace

FileError::FileError(FileFault fault, std::string_view role, std::string_view problem, int error)
    : fault_(fault), what_(describe(role, problem, error)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor openOwn(const std::filesystem::path& path, OpenFor use, std::string_view role) {
  const int access = use == OpenFor::kRead ? O_RDONLY : O_RDWR;
  // O_NONBLOCK: a FIFO put in the file's place must not hang us.
  FileDescriptor file(::open(path.c_str(), access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) {
    const FileFault fault = errno == ENOENT                    ? FileFault::kMissing
                            : errno == ELOOP || errno == ENXIO ? FileFault::kUnsafe
                                                               : FileFault::kIo;
    throw FileError(fault, role, "can't be opened", errno);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw FileError(FileFault::kIo, role, "can't be examined", errno);
  if (!S_ISREG(status.st_mode)) throw FileError(FileFault::kUnsafe, role, "is not a regular file");
  if (status.st_uid != ::geteuid()) throw FileError(FileFault::kUnsafe, role, "belongs to another user");
  if ((status.st_mode & 077) != 0) {
    throw FileError(FileFault::kUnsafe, role, "is open to others; set its mode to 0600");
  }
  return file;
}

FileDescriptor createOwn(const std::filesystem::path& path, std::string_view role) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) {
    throw FileError(errno == EEXIST ? FileFault::kExists : FileFault::kIo, role, "can't be made", errno);
  }
  if (::fchmod(file.get(), 0600) != 0)
    throw FileError(FileFault::kIo, role, "can't be given its mode", errno);
  syncDirectory(path.parent_path(), role);
  return file;
}

void lockAlone(const FileDescriptor& file, std::string_view role) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) throw FileError(FileFault::kBusy, role, "is in use by another process");
  throw FileError(FileFault::kIo, role, "can't be locked", errno);
}

std::uint64_t sizeOf(const FileDescriptor& file, std::string_view role) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw FileError(FileFault::kIo, role, "can't be examined", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

bool stillNames(const std::filesystem::path& path, const FileDescriptor& file) {
  struct stat named {};
  struct stat open {};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(file.get(), &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

std::size_t readAt(const FileDescriptor& file, std::span<std::uint8_t> out, std::uint64_t offset,
                   std::string_view role) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(file.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw FileError(FileFault::kIo, role, "can't be read", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void writeAt(FileOps& ops, const FileDescriptor& file, std::span<const std::uint8_t> data,
             std::uint64_t offset, std::string_view role) {
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t put = ops.write(file.get(), data.subspan(done), static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw FileError(FileFault::kIo, role, "can't be written", errno);
    if (put == 0) throw FileError(FileFault::kIo, role, "takes no more bytes");
    done += static_cast<std::size_t>(put);
  }
}

void sync(FileOps& ops, const FileDescriptor& file, std::string_view role) {
  if (ops.sync(file.get()) != 0) throw FileError(FileFault::kIo, role, "can't be made durable", errno);
}

void syncDirectory(const std::filesystem::path& directory, std::string_view role) {
  const FileDescriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) {
    throw FileError(FileFault::kIo, role, "its directory can't be made durable", errno);
  }
}

}  // namespace factionos::audit
