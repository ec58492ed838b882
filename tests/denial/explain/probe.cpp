// Does what the lines of the file "cells" say, inside of a profile, and notes each one's errno in the file
// "results": 0 is success. A line is "OPERATION TARGET".
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int outcome(long returned) {
  return returned < 0 ? errno : 0;
}

std::string expanded(const std::string& target) {
  if (target.front() != '$') return target;
  const std::size_t end = target.find('/');
  const std::string name = target.substr(1, end == std::string::npos ? end : end - 1);
  const char* value = name == "TTY" ? ttyname(STDIN_FILENO) : std::getenv(name.c_str());
  return std::string(value != nullptr ? value : "") + (end == std::string::npos ? "" : target.substr(end));
}

int opened(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
  const int result = outcome(file);
  if (file >= 0) close(file);
  if (result == 0 && (flags & O_CREAT) != 0) unlink(path.c_str());
  return result;
}

// The errno comes through a pipe that closes on success; what was started is ended at once.
int executed(const std::string& path) {
  int status[2];
  if (pipe2(status, O_CLOEXEC) != 0) return errno;
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int standard : {0, 1, 2}) dup2(nothing, standard);
    char* const words[] = {const_cast<char*>(path.c_str()), nullptr};
    execv(path.c_str(), words);
    const int error = errno;
    _exit(write(status[1], &error, sizeof error) == sizeof error ? 1 : 2);
  }
  close(status[1]);
  int error = 0;
  if (read(status[0], &error, sizeof error) != sizeof error) error = 0;
  close(status[0]);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return error;
}

int connectedTo(int family, int type, const void* address, socklen_t size) {
  const int socket = ::socket(family, type | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  int result = outcome(connect(socket, static_cast<const sockaddr*>(address), size));
  if (result == 0 && type == SOCK_DGRAM) result = outcome(send(socket, "x", 1, 0));
  close(socket);
  return result;
}

int connectedTo(const std::string& peer) {
  const std::string kind = peer.substr(0, peer.find(':'));
  const std::string rest = peer.substr(kind.size() + 1);
  if (kind == "unix") {
    const bool abstract = rest.front() == '@';
    const std::string name = abstract ? rest.substr(1) : expanded(rest);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + (abstract ? 1 : 0), name.data(), name.size());
    const std::size_t size = offsetof(sockaddr_un, sun_path) + name.size() + 1;
    return connectedTo(AF_UNIX, SOCK_STREAM, &address, static_cast<socklen_t>(size));
  }
  const int type = kind == "tcp" ? SOCK_STREAM : SOCK_DGRAM;
  const auto port = htons(static_cast<std::uint16_t>(std::stoi(rest.substr(rest.rfind(':') + 1))));
  if (rest.front() == '[') {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = port;
    inet_pton(AF_INET6, rest.substr(1, rest.find(']') - 1).c_str(), &address.sin6_addr);
    return connectedTo(AF_INET6, type, &address, sizeof address);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port;
  inet_pton(AF_INET, rest.substr(0, rest.find(':')).c_str(), &address.sin_addr);
  return connectedTo(AF_INET, type, &address, sizeof address);
}

int tried(const std::string& operation, const std::string& target) {
  if (operation == "read") return opened(expanded(target), O_RDONLY);
  if (operation == "write") return opened(expanded(target), O_WRONLY);
  if (operation == "create") return opened(expanded(target), O_WRONLY | O_CREAT | O_EXCL);
  if (operation == "exec") return executed(expanded(target));
  return connectedTo(target);
}

}  // namespace

int main() {
  signal(SIGTTOU, SIG_IGN);
  std::ifstream cells("cells");
  std::ofstream results("results");
  for (std::string operation, target; cells >> operation >> target;)
    results << tried(operation, target) << "\n";
  results.flush();
  return results ? 0 : 1;
}
