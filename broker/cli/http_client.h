#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sandbox/descriptors.h"

namespace factionos::cli {

struct HttpReply {
  unsigned status = 0;
  std::string body;
  bool replayed = false;
};

// A blocking client of the front's unix socket: one connection, one request at a time. Stop(kUnreachable)
// when nobody answers.
class HttpClient {
 public:
  explicit HttpClient(std::string socketPath, std::optional<std::string> token = std::nullopt);
  ~HttpClient();

  HttpReply get(const std::string& target);
  // `key`: the Idempotency-Key; empty: none.
  HttpReply post(const std::string& target, const std::string& body, const std::string& key);

 private:
  HttpReply request(std::string_view method, const std::string& target, const std::string& body,
                    const std::string& key);
  void connect();
  std::string socketPath_;
  std::optional<std::string> token_;
  sandbox::Fd socket_;
  std::string rest_;  // read beyond the last reply
};

std::string randomKey();
// A JSON string with its quotes.
std::string jsonText(std::string_view text);

}  // namespace factionos::cli
