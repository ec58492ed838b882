// How a kept copy's record is written: one "name value" a line, texts and digests in hexadecimal. It lies
// where others may write, so what is read is checked as if they had.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include <sodium.h>

#include "workers/file/kept.h"
#include "workers/file/place.h"

namespace factionos::file {
namespace {

constexpr std::string_view kVersion = "factionos-kept 2";
constexpr std::size_t kLongestRecord = 16 * 1024;
constexpr std::int64_t kLatestMs = 253'402'300'799'999;  // what RFC 3339 can say

constexpr std::string_view kAction = "act_";
// As the broker's ids are: 48 bits of time and 80 random ones in Crockford's base 32.
constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kActionDigits = 26;

constexpr std::string_view kTemporary = ".factionos-";
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kTemporaryDigits = 32;

constexpr std::array<std::string_view, 4> kOperations = {"write", "edit", "delete", "restore"};

std::string toHex(std::string_view bytes) {
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += kHexDigits[byte >> 4U];
    text += kHexDigits[byte & 15U];
  }
  return text;
}

std::optional<std::string> fromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc() || end != text.data() + i + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string shaText(const std::optional<Sha>& sha) {
  if (!sha) return "none";
  return toHex({reinterpret_cast<const char*>(sha->data()), sha->size()});
}

class Fields {
 public:
  explicit Fields(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      const std::size_t space = line.find(' ');
      if (space != std::string_view::npos) fields_.emplace(line.substr(0, space), line.substr(space + 1));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  [[nodiscard]] std::string_view text(std::string_view name) const {
    const auto found = fields_.find(name);
    return found == fields_.end() ? std::string_view() : found->second;
  }
  template <typename Number>
  bool number(std::string_view name, Number& value) const {
    const std::string_view digits = text(name);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && !digits.empty() && end == digits.data() + digits.size();
  }
  bool sha(std::string_view name, std::optional<Sha>& value) const {
    if (text(name) == "none") return true;
    const auto bytes = fromHex(text(name));
    if (!bytes || bytes->size() != Sha{}.size()) return false;
    value.emplace();
    std::copy(bytes->begin(), bytes->end(), value->begin());
    return true;
  }

 private:
  std::map<std::string_view, std::string_view> fields_;
};

}  // namespace

bool isAction(std::string_view text) {
  return text.size() == kAction.size() + kActionDigits && text.starts_with(kAction) &&
         text[kAction.size()] <= '7' &&
         text.find_first_not_of(kDigits, kAction.size()) == std::string_view::npos;
}

bool isOperation(std::string_view text) {
  return std::ranges::find(kOperations, text) != kOperations.end();
}

bool isTemporary(std::string_view name) {
  return name.size() == kTemporary.size() + kTemporaryDigits && name.starts_with(kTemporary) &&
         name.find_first_not_of(kHexDigits, kTemporary.size()) == std::string_view::npos;
}

std::string newTemporary() {
  std::array<char, kTemporaryDigits / 2> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  return std::string(kTemporary) + toHex({bytes.data(), bytes.size()});
}

std::string encode(const KeptRecord& record) {
  return std::string(kVersion) + "\naction " + record.action + "\noperation " + record.operation + "\npath " +
         toHex(record.path) + "\ntemporary " + record.temporary + "\nbefore " + shaText(record.before) +
         "\nafter " + shaText(record.after) + "\ninode " + std::to_string(record.inode) + "\nsize " +
         std::to_string(record.size) + "\nmode " + std::to_string(record.mode) + "\nkept " +
         std::to_string(record.keptMs) + "\n";
}

std::optional<KeptRecord> decode(std::string_view text) {
  if (text.size() > kLongestRecord || !text.starts_with(kVersion)) return std::nullopt;
  const Fields fields(text);
  KeptRecord record;
  record.action = fields.text("action");
  record.operation = fields.text("operation");
  record.temporary = fields.text("temporary");
  const auto path = fromHex(fields.text("path"));
  const bool numbers = fields.number("inode", record.inode) && fields.number("size", record.size) &&
                       fields.number("mode", record.mode) && fields.number("kept", record.keptMs);
  const bool shas = fields.sha("before", record.before) && fields.sha("after", record.after);
  if (!isAction(record.action) || !path || !isPlainPath(*path) || !numbers || !shas) return std::nullopt;
  if (!isOperation(record.operation) || !isTemporary(record.temporary)) return std::nullopt;
  if (record.mode > 0777 || record.size > kLargestChanged) return std::nullopt;
  if (record.keptMs < 0 || record.keptMs > kLatestMs) return std::nullopt;
  record.path = *path;
  return record;
}

}  // namespace factionos::file
