#include "workers/front/gate.h"

#include <algorithm>
#include <array>

namespace factionos::front {
namespace {

constexpr std::string_view kVersion10 = "HTTP/1.0";
constexpr std::string_view kVersion11 = "HTTP/1.1";

constexpr std::array<bool, 256> makeTokenTable() {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> kToken = makeTokenTable();

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// Bytes from 0x80 on are let through: RFC 9110 calls them obs-text, and no field that we act on may hold one.
constexpr bool isValueByte(unsigned char byte) {
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

}  // namespace

HeaderGate::State HeaderGate::feed(std::string_view bytes) {
  for (char byte : bytes) {
    if (state_ != State::kMore) break;
    step(static_cast<unsigned char>(byte));
  }
  return state_;
}

void HeaderGate::step(unsigned char byte) {
  if (length_ == kMaxHeaderBytes) return refuse(Refusal::kHeaderTooLarge);
  ++length_;
  switch (place_) {
    case Place::kMethod:
      return inMethod(byte);
    case Place::kTargetStart:
      if (byte != '/') return refuse(Refusal::kMalformed);
      partLength_ = 1;
      place_ = Place::kTarget;
      return;
    case Place::kTarget:
      return inTarget(byte);
    case Place::kVersion:
      return inVersion(byte);
    case Place::kLineFeed:
      if (byte != '\n') return refuse(Refusal::kMalformed);
      place_ = Place::kFieldStart;
      return;
    case Place::kFieldStart:
      return atFieldStart(byte);
    case Place::kName:
      return inName(byte);
    case Place::kValue:
      return inValue(byte);
    case Place::kLastLineFeed:
      if (byte != '\n') return refuse(Refusal::kMalformed);
      state_ = State::kComplete;
      return;
  }
}

void HeaderGate::inMethod(unsigned char byte) {
  if (byte == ' ' && partLength_ > 0) {
    place_ = Place::kTargetStart;
    return;
  }
  if (!kToken[byte] || ++partLength_ > kMaxMethodBytes) refuse(Refusal::kMalformed);
}

void HeaderGate::inTarget(unsigned char byte) {
  if (byte == ' ') {
    partLength_ = 0;
    place_ = Place::kVersion;
    return;
  }
  if (byte <= 0x20 || byte >= 0x7f) return refuse(Refusal::kMalformed);
  if (++partLength_ > kMaxTargetBytes) refuse(Refusal::kTargetTooLong);
}

void HeaderGate::inVersion(unsigned char byte) {
  if (byte != '\r') {
    if (partLength_ == sizeof version_ || byte < 0x20 || byte >= 0x7f) return refuse(Refusal::kMalformed);
    version_[partLength_++] = static_cast<char>(byte);
    return;
  }
  const std::string_view version(version_, partLength_);
  if (version != kVersion10 && version != kVersion11) {
    const bool wellFormed = version.size() == kVersion11.size() && version.starts_with("HTTP/") &&
                            isDigit(version[5]) && version[6] == '.' && isDigit(version[7]);
    return refuse(wellFormed ? Refusal::kVersionUnsupported : Refusal::kMalformed);
  }
  place_ = Place::kLineFeed;
}

void HeaderGate::atFieldStart(unsigned char byte) {
  if (byte == '\r') {
    place_ = Place::kLastLineFeed;
    return;
  }
  if (!kToken[byte]) return refuse(Refusal::kMalformed);
  if (++fields_ > kMaxFields) return refuse(Refusal::kHeaderTooLarge);
  place_ = Place::kName;
}

void HeaderGate::inName(unsigned char byte) {
  if (byte == ':') {
    place_ = Place::kValue;
    return;
  }
  if (!kToken[byte]) refuse(Refusal::kMalformed);
}

void HeaderGate::inValue(unsigned char byte) {
  if (byte == '\r') {
    place_ = Place::kLineFeed;
    return;
  }
  if (!isValueByte(byte)) refuse(Refusal::kMalformed);
}

void HeaderGate::refuse(Refusal why) {
  state_ = State::kRefused;
  refusal_ = why;
}

void splitHeaderBlock(std::string_view block, HeaderBlock& into) {
  into.fields.clear();
  const std::size_t methodEnd = block.find(' ');
  const std::size_t targetEnd = block.find(' ', methodEnd + 1);
  std::size_t lineEnd = block.find("\r\n", targetEnd);
  into.method = block.substr(0, methodEnd);
  into.target = block.substr(methodEnd + 1, targetEnd - methodEnd - 1);
  into.minorVersion = block[lineEnd - 1] - '0';
  for (std::size_t start = lineEnd + 2;; start = lineEnd + 2) {
    lineEnd = block.find("\r\n", start);
    if (lineEnd == start || lineEnd == std::string_view::npos) return;
    const std::string_view line = block.substr(start, lineEnd - start);
    const std::size_t colon = line.find(':');
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    value.remove_suffix(value.size() - (value.find_last_not_of(" \t") + 1));
    into.fields.push_back({line.substr(0, colon), value});
  }
}

bool equalsIgnoreCase(std::string_view left, std::string_view right) {
  constexpr auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(left, right, [lower](char a, char b) { return lower(a) == lower(b); });
}

}  // namespace factionos::front
