#include "sandbox/landlock_records.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace factionos::sandbox {
namespace {

// Fields are apart by one space, and no value holds one: the kernel writes in hex what would.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  // The value of the next field, if that is called `name`.
  std::optional<std::string_view> take(std::string_view name) {
    const std::string_view field = rest_.substr(0, rest_.find(' '));
    if (field.size() <= name.size() || !field.starts_with(name) || field[name.size()] != '=')
      return std::nullopt;
    skip(field);
    return field.substr(name.size() + 1);
  }

  // Passes over others until there is one called `name`.
  std::optional<std::string_view> find(std::string_view name) {
    while (!rest_.empty()) {
      if (const auto value = take(name)) return value;
      skip(rest_.substr(0, rest_.find(' ')));
    }
    return std::nullopt;
  }

 private:
  void skip(std::string_view field) {
    rest_.remove_prefix(field.size());
    if (!rest_.empty()) rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

template <typename Number>
std::optional<Number> number(std::string_view text, int base) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || text.front() == '-' || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

bool isDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "audit(1796085851.261:58986): "
std::optional<std::string_view> afterStamp(std::string_view text) {
  constexpr std::string_view kBegin = "audit(";
  constexpr std::string_view kEnd = "): ";
  if (!text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(kBegin.size());
  const std::size_t dot = text.find('.');
  const std::size_t colon = text.find(':');
  const std::size_t end = text.find(kEnd);
  if (end == std::string_view::npos || dot >= colon || colon >= end) return std::nullopt;
  if (!isDigits(text.substr(0, dot)) || !isDigits(text.substr(dot + 1, colon - dot - 1)) ||
      !isDigits(text.substr(colon + 1, end - colon - 1)))
    return std::nullopt;
  return text.substr(end + kEnd.size());
}

Blocked meaningOf(std::string_view blocker) {
  struct Row {
    std::string_view prefix;
    Blocked blocked;
  };
  constexpr std::array kRows = {Row{"fs.read_", Blocked::kRead},
                                Row{"fs.write_file", Blocked::kWrite},
                                Row{"fs.truncate", Blocked::kWrite},
                                Row{"fs.remove_", Blocked::kWrite},
                                Row{"fs.refer", Blocked::kWrite},
                                Row{"fs.make_", Blocked::kCreate},
                                Row{"fs.execute", Blocked::kExecute},
                                Row{"fs.ioctl_dev", Blocked::kDevice},
                                Row{"net.bind_tcp", Blocked::kBindTcp},
                                Row{"net.connect_tcp", Blocked::kConnectTcp},
                                Row{"scope.abstract_unix_socket", Blocked::kAbstractSocket}};
  for (const Row& row : kRows) {
    if (blocker.starts_with(row.prefix)) return row.blocked;
  }
  return Blocked::kOther;
}

Blocked strongest(std::string_view blockers) {
  Blocked most = Blocked::kOther;
  while (!blockers.empty()) {
    const std::string_view one = blockers.substr(0, blockers.find(','));
    most = std::max(most, meaningOf(one));
    blockers.remove_prefix(std::min(one.size() + 1, blockers.size()));
  }
  return most;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// In quotes, or in hex without them. Empty if it is neither: the kernel had no name.
std::string pathOf(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    return std::string(value.substr(1, std::min(value.size() - 2, kMostRecordPath)));
  std::string path;
  if (value.size() % 2 != 0) return path;
  for (std::size_t i = 0; i < value.size() && path.size() < kMostRecordPath; i += 2) {
    const int high = digit(value[i]);
    const int low = digit(value[i + 1]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return {};
    path.push_back(static_cast<char>(high * 16 + low));
  }
  return path;
}

LandlockRecord denialOf(std::uint64_t domain, Fields fields) {
  const auto blockers = fields.take("blockers");
  if (!blockers) return {};
  LandlockDenial denial{.domain = domain, .blocked = strongest(*blockers)};
  if (denial.blocked == Blocked::kConnectTcp || denial.blocked == Blocked::kBindTcp) {
    const auto port = fields.find(denial.blocked == Blocked::kConnectTcp ? "dest" : "src");
    if (port) denial.port = number<std::uint16_t>(*port, 10).value_or(0);
  } else if (const auto path = fields.take("path")) {
    denial.path = pathOf(*path);
  }
  return denial;
}

LandlockRecord domainOf(std::uint64_t domain, Fields fields) {
  const auto status = fields.take("status");
  if (status == "deallocated") return LandlockDomain{domain, 0, 0};
  if (status != "allocated" || !fields.take("mode")) return {};
  const auto pid = fields.take("pid");
  const auto uid = fields.take("uid");
  if (!pid || !uid) return {};
  const pid_t maker = number<pid_t>(*pid, 10).value_or(0);
  const auto user = number<uid_t>(*uid, 10);
  if (maker <= 0 || !user) return {};
  return LandlockDomain{domain, maker, *user};
}

}  // namespace

LandlockRecord parseLandlockRecord(std::uint16_t type, std::string_view text) {
  if (type != kLandlockAccessRecord && type != kLandlockDomainRecord) return {};
  text = text.substr(0, text.find('\0'));
  if (text.size() > kMostRecordBytes) return {};
  const auto body = afterStamp(text);
  if (!body) return {};
  Fields fields(*body);
  const auto name = fields.take("domain");
  const auto domain = name ? number<std::uint64_t>(*name, 16) : std::nullopt;
  if (!domain || *domain == 0) return {};
  return type == kLandlockAccessRecord ? denialOf(*domain, fields) : domainOf(*domain, fields);
}

}  // namespace factionos::sandbox
