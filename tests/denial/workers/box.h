// Acts of the probe, inside of the real profile and outside of it, and somebody who listens outside.
#pragma once

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"

namespace factionos::test {

using Words = std::vector<std::string>;

inline std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// One broker whose workspace holds the probe, and one story.
class Box {
 public:
  explicit Box(Story theStory) : story(theStory) {
    std::filesystem::copy_file(FACTIONOS_PROBE, broker.world.workspace + "/probe");
  }

  std::string inside(Words words, schema::NetworkProfile network = schema::NetworkProfile::NONE,
                     std::uint16_t apiPort = 0) {
    words.insert(words.begin(), "./probe");
    CommandLine command = argv(words, story);
    command.network = network;
    command.apiPort = apiPort;
    Result result = broker.run(command);
    EXPECT_EQ(result.denial, "");
    return trimmed(result.output);
  }

  // The same act by the same user without a sandbox.
  static std::string control(const Words& words) {
    std::string line = FACTIONOS_PROBE;
    for (const std::string& word : words) line += " '" + word + "'";
    FILE* pipe = popen(line.c_str(), "r");
    char buffer[128] = {};
    const std::size_t size = fread(buffer, 1, sizeof buffer - 1, pipe);
    pclose(pipe);
    return trimmed({buffer, size});
  }

  [[nodiscard]] bool namespaces() const { return story == Story::kNamespaces; }
  [[nodiscard]] const World& world() const { return broker.world; }
  // A path outside is not there with a mount namespace, and refused without.
  [[nodiscard]] std::string hidden() const { return namespaces() ? "ENOENT" : "EACCES"; }

  const Story story;
  Broker broker;
};

inline std::string inWorkspace(const Box& box, const std::string& name) {
  return box.world().workspace + "/" + name;
}

// On this machine, as the broker's user.
inline std::string host(const std::string& line) {
  FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  std::string output(4096, '\0');
  output.resize(fread(output.data(), 1, output.size(), pipe));
  pclose(pipe);
  return output;
}

inline std::string git(const Box& box, const std::string& line) {
  return host("git -C " + box.world().workspace + " -c user.name=x -c user.email=x@y " + line);
}

class Listener {
 public:
  explicit Listener(const std::string& path) : Listener(AF_UNIX, SOCK_STREAM) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const bool abstract = path.front() == '@';
    std::memcpy(address.sun_path + (abstract ? 1 : 0), path.data() + (abstract ? 1 : 0),
                path.size() - (abstract ? 1 : 0));
    bind(&address,
         abstract ? static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()) : sizeof address);
    EXPECT_EQ(listen(socket_, 8), 0);
  }
  explicit Listener(int type) : Listener(AF_INET, type) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(&address, sizeof address);
    if (type == SOCK_STREAM) listen(socket_, 8);
    socklen_t size = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  ~Listener() { close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Whether somebody has come since the last question.
  bool heard() const {
    pollfd ready{socket_, POLLIN, 0};
    if (poll(&ready, 1, 0) != 1) return false;
    char byte = 0;
    const int peer = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) return recv(socket_, &byte, 1, 0) >= 0;
    close(peer);
    return true;
  }

  std::uint16_t port = 0;

 private:
  Listener(int family, int type) : socket_(socket(family, type | SOCK_CLOEXEC, 0)) { EXPECT_GE(socket_, 0); }
  void bind(const void* address, socklen_t size) const {
    EXPECT_EQ(::bind(socket_, static_cast<const sockaddr*>(address), size), 0);
  }
  int socket_;
};

}  // namespace factionos::test
