#pragma once

#include <string>
#include <thread>
#include <vector>

namespace factionos::test {

// A reader of /v1/stream (WebSocket) or /v1/stream/sse that keeps every byte until it is stopped.
class StreamReader {
 public:
  enum class Kind { kWebSocket, kServerSentEvents };
  // `token`: of the scope read. For a WebSocket it goes into the first frame.
  StreamReader(const std::string& socketPath, Kind kind, const std::string& token);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  // Ends the connection and returns what came over it.
  std::string stop();

 private:
  int fd_;
  std::string bytes_;
  std::thread reader_;
};

// Opens a WebSocket, sends each of `frames` as a text and returns everything up to the server's end of the
// connection, or until it has been silent for a while.
std::string webSocketAnswer(const std::string& socketPath, const std::vector<std::string>& frames);

// The same for bytes of any kind.
std::string rawAnswer(const std::string& socketPath, const std::string& bytes);

}  // namespace factionos::test
