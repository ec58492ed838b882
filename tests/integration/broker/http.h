#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace factionos::test {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  bool has(const std::string& pointer) const;
  // By JSON pointer ("/action/state"); a number as its digits, a Boolean as true or false; empty where there
  // is none.
  std::string at(const std::string& pointer) const;
  std::uint64_t number(const std::string& pointer) const;
  std::string code() const { return at("/code"); }
};

// A connection that was taken and has neither answered nor ended after longer than the front gives any
// request.
inline constexpr int kNeverAnswered = -1;

// One request on a connection of its own, over TCP on 127.0.0.1. Status 0: nobody answered.
Reply request(std::uint16_t port, const std::string& method, const std::string& target,
              const std::string& body, const Headers& headers);
// The same over a unix socket.
Reply requestUnix(const std::string& path, const std::string& method, const std::string& target,
                  const std::string& body, const Headers& headers);

std::string json(const std::string& text);  // a JSON string with its quotes

}  // namespace factionos::test
