#include "fake_engine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>
#include <poll.h>
#include <simdjson.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace factionos::test {
namespace {

constexpr const char* kVersion =
    R"({"Components":[{"Name":"Engine"}],"ApiVersion":"1.41","MinAPIVersion":"1.12","Os":"linux"})";
constexpr const char* kInfo =
    R"({"SecurityOptions":["name=seccomp,profile=default","name=rootless"],"MemoryLimit":true,"SwapLimit":true,"PidsLimit":true,"CpuCfsQuota":true})";

// "/v1.41/containers/0123…/start?x=1" without version, query, and with ID for an id or a name of ours.
std::string shapeOf(const std::string& target, std::string& which) {
  std::string path = target.substr(0, target.find('?'));
  if (path.starts_with("/v1.")) path = path.substr(path.find('/', 1));
  const std::string prefix = "/containers/";
  if (!path.starts_with(prefix)) return path;
  const std::size_t end = std::min(path.find('/', prefix.size()), path.size());
  which = path.substr(prefix.size(), end - prefix.size());
  if (which == "create" || which == "json") return path;
  return prefix + "ID" + path.substr(end);
}

std::string readRequest(int socket, std::size_t& head) {
  std::string text;
  char buffer[65536];
  head = std::string::npos;
  std::size_t whole = std::string::npos;
  while (text.size() < whole) {
    const ssize_t got = read(socket, buffer, sizeof buffer);
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (head != std::string::npos) continue;
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    head = end + 4;
    const std::size_t length = text.find("Content-Length: ");
    whole = head + (length < head ? std::strtoul(text.c_str() + length + 16, nullptr, 10) : 0);
  }
  return text;
}

}  // namespace

void FakeEngine::Call::send(const std::string& bytes) const {
  sendCut(bytes, bytes.size());
}

void FakeEngine::Call::sendCut(const std::string& bytes, std::size_t piece) const {
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t size = std::min(piece, bytes.size() - at);
    if (::send(socket, bytes.data() + at, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) return;
  }
}

void FakeEngine::Call::reply(int status, const std::string& json) const {
  const bool none = status == 204 || status == 304;
  send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" +
       (none ? "" : "Content-Length: " + std::to_string(json.size()) + "\r\n") + "\r\n" + (none ? "" : json));
}

void FakeEngine::Call::hold() const {
  while (!*ending) {
    pollfd poll{socket, POLLIN, 0};
    if (::poll(&poll, 1, 50) > 0) return;
  }
}

void FakeEngine::Call::pause(int milliseconds) const {
  for (int passed = 0; passed < milliseconds && !*ending; passed += 10) usleep(10'000);
}

FakeEngine::FakeEngine() {
  char folder[] = "/tmp/factionos-fake.XXXXXX";
  EXPECT_NE(mkdtemp(folder), nullptr);
  folder_ = folder;
  path_ = folder_ + "/engine.sock";
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener_, 64), 0);
  behaveWell();
  acceptor_ = std::thread([this]() { serve(); });
}

FakeEngine::~FakeEngine() {
  ending_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) close(socket);
  close(listener_);
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

void FakeEngine::on(const std::string& what, Handler handler) {
  const std::lock_guard lock(mutex_);
  handlers_[what] = std::move(handler);
}

std::vector<std::string> FakeEngine::calls() {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::size_t FakeEngine::calls(const std::string& what) {
  const auto all = calls();
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), what));
}

void FakeEngine::state(const std::string& word) {
  const std::lock_guard lock(mutex_);
  state_ = word;
}

bool FakeEngine::isGone() {
  const std::lock_guard lock(mutex_);
  return created_.empty();
}

std::string FakeEngine::inspected() {
  const std::lock_guard lock(mutex_);
  simdjson::dom::parser parser;
  simdjson::dom::element body;
  if (parser.parse(created_).get(body) != simdjson::SUCCESS) return {};
  simdjson::dom::element host;
  if (body["HostConfig"].get(host) != simdjson::SUCCESS) return {};
  return R"({"Id":")" + std::string(kId) + R"(","Config":)" + created_ + R"(,"HostConfig":)" +
         std::string(simdjson::minify(host)) + R"(,"Mounts":[],"State":{"Status":")" + state_ +
         R"(","ExitCode":)" + std::to_string(exitCode_) + R"(,"OOMKilled":false}})";
}

void FakeEngine::behaveWell(const std::string& output, int exitCode) {
  {
    const std::lock_guard lock(mutex_);
    exitCode_ = exitCode;
  }
  on("GET /version", [](const Call& call) { call.reply(200, kVersion); });
  on("GET /info", [](const Call& call) { call.reply(200, kInfo); });
  on("POST /containers/create", [this](const Call& call) {
    if (!isGone()) return call.reply(409, R"({"message":"taken"})");
    {
      const std::lock_guard lock(mutex_);
      created_ = call.body;
      state_ = "created";
    }
    call.reply(201, R"({"Id":")" + std::string(kId) + R"(","Warnings":[]})");
  });
  on("GET /containers/ID/json", [this](const Call& call) {
    if (isGone()) return call.reply(404, R"({"message":"No such container"})");
    call.reply(200, inspected());
  });
  on("POST /containers/ID/attach", [this, output](const Call& call) {
    call.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    while (!ending_ && !isGone() && inspected().find(R"("Status":"created")") != std::string::npos)
      call.pause(10);
    call.send(output);
    while (!ending_ && !isGone() && inspected().find(R"("Status":"running")") != std::string::npos)
      call.pause(10);
  });
  on("POST /containers/ID/wait", [this](const Call& call) {
    call.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
    while (!ending_ && !isGone() && inspected().find(R"("Status":"exited")") == std::string::npos)
      call.pause(10);
    call.send("{\"StatusCode\":7}");
  });
  on("POST /containers/ID/start", [this](const Call& call) {
    state("exited");
    call.reply(204, "");
  });
  on("POST /containers/ID/kill", [this](const Call& call) {
    state("exited");
    call.reply(204, "");
  });
  on("DELETE /containers/ID", [this](const Call& call) {
    const std::lock_guard lock(mutex_);
    call.reply(created_.empty() ? 404 : 204, R"({"message":"x"})");
    created_.clear();
  });
}

void FakeEngine::serve() {
  while (!ending_) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket]() { handle(socket); });
  }
}

void FakeEngine::handle(int socket) {
  std::size_t head = 0;
  const std::string text = readRequest(socket, head);
  if (head != std::string::npos) {
    Call call;
    const std::size_t space = text.find(' ');
    const std::string target = text.substr(space + 1, text.find(' ', space + 1) - space - 1);
    call.method = text.substr(0, space);
    call.path = shapeOf(target, call.which);
    call.query = target.find('?') == std::string::npos ? "" : target.substr(target.find('?') + 1);
    call.body = text.substr(head);
    call.socket = socket;
    call.ending = &ending_;
    Handler handler;
    {
      const std::lock_guard lock(mutex_);
      const std::string what = call.method + " " + call.path;
      calls_.push_back(what);
      const auto found = handlers_.find(what);
      if (found != handlers_.end()) handler = found->second;
    }
    if (handler) {
      handler(call);
    } else {
      call.reply(404, R"({"message":"page not found"})");
    }
  }
  shutdown(socket, SHUT_RDWR);
}

std::string frame(int type, const std::string& payload) {
  std::string head(8, '\0');
  head[0] = static_cast<char>(type);
  for (std::size_t i = 0; i < 4; ++i) head[4 + i] = static_cast<char>(payload.size() >> (24 - 8 * i));
  return head + payload;
}

}  // namespace factionos::test
