// One HTTP reply of the engine, read as bytes come. The engine may be hostile, or not an engine at all. No
// KJ: a fuzzer builds this alone. No other file of this worker includes Beast.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace factionos::container {

class ReplyParser {
 public:
  enum class Body {
    kCollect,  // into memory
    kNone,     // the reply ends with its header: what follows is a stream of its own
  };
  enum class Status {
    kHeader,  // its header is not whole yet
    kBody,    // its header is, its body is not
    kDone,
    kBroken,  // no HTTP reply, or larger than it may be
  };

  // `bodyBytes`: the largest body that is taken.
  ReplyParser(Body body, std::size_t bodyBytes);
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // Not after kDone or kBroken.
  Status feed(std::string_view bytes);
  // The engine has closed: the end of a body that names no length.
  Status finish();

  // From kBody on.
  [[nodiscard]] unsigned status() const;
  // Of kDone, once.
  std::string takeBody();
  // Of kDone: bytes that came behind the reply.
  std::string takeRest();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr std::size_t kMaxReplyHeader = 16384;

}  // namespace factionos::container
