#include "broker/redaction/known_secrets.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "broker/redaction/escape_lexer.h"

namespace factionos::redaction {
namespace {

constexpr std::size_t kMinLineBytes = 16;
constexpr std::size_t kMinDistinct = 3;

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && isBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t distinctBytes(std::string_view text) {
  std::bitset<256> seen;
  for (const char c : text) seen.set(static_cast<unsigned char>(c));
  return seen.count();
}

// The value as the lanes would see it, which match without gaps and controls: its text, and what each
// sequence in it holds. Bytes that are no text (a random key) may well hold the introducer of one.
std::vector<SecretString> project(std::string_view value) {
  std::vector<SecretString> projected(1);
  EscapeLexer lexer;
  LexedBlock block;
  const auto take = [&] {
    for (std::size_t i = 0; i < block.size; ++i) {
      if (block.classes[i] == ByteClass::kText) projected.front().push_back(block.bytes[i]);
      if (block.classes[i] == ByteClass::kSequenceStart) projected.emplace_back();
      if (block.classes[i] == ByteClass::kSequence) projected.back().push_back(block.bytes[i]);
    }
  };
  for (; !value.empty(); value.remove_prefix(std::min(value.size(), LexedBlock::kRawBytes))) {
    lexer.lex(value.substr(0, LexedBlock::kRawBytes), block);
    take();
  }
  lexer.finish(block);
  take();
  std::erase_if(projected, [](const SecretString& part) {
    return part.size() < KnownSecrets::kMinBytes || distinctBytes({part.data(), part.size()}) < kMinDistinct;
  });
  return projected;
}

std::vector<SecretString> patternsOf(std::string_view value) {
  std::vector<SecretString> patterns;
  for (const SecretString& form : encodedForms(value)) {
    for (SecretString& pattern : project(form)) patterns.push_back(std::move(pattern));
  }
  return patterns;
}

}  // namespace

KnownSecrets::Added KnownSecrets::add(std::string_view value) {
  value = trim(value);
  if (value.size() < kMinBytes) return Added::kTooShort;
  if (value.size() > kMaxBytes) return Added::kTooLong;
  if (distinctBytes(value) < kMinDistinct || project(value).empty()) return Added::kTooWeak;
  std::vector<SecretString> patterns = patternsOf(value);
  for (std::string_view rest = value; !rest.empty() && value.find('\n') != std::string_view::npos;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trim(rest.substr(0, end));
    if (line.size() >= kMinLineBytes && distinctBytes(line) >= kMinDistinct) {
      for (SecretString& pattern : patternsOf(line)) patterns.push_back(std::move(pattern));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::size_t states = automaton_->stateCount();
  for (const SecretString& pattern : patterns) states += pattern.size();
  if (states > kMaxStates) return Added::kTooMany;
  for (const SecretString& pattern : patterns) automaton_->add(pattern);
  return Added::kOk;
}

std::shared_ptr<const LiteralAutomaton> KnownSecrets::freeze() && {
  automaton_->build();
  return std::move(automaton_);
}

}  // namespace factionos::redaction
