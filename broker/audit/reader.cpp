#include "broker/audit/reader.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "broker/audit/head.h"
#include "broker/audit/line_reader.h"
#include "broker/audit/log_writer.h"

namespace factionos::audit {
namespace {

constexpr std::string_view kRole = "audit log";
constexpr std::size_t kMaxList = 1000;

struct OpenLog {
  FileDescriptor file;
  std::uint64_t end = 0;  // what the head covers: past it nothing has been acknowledged
};

OpenLog openForReading(const AuditPaths& paths) {
  OpenLog log{openOwn(paths.log(), OpenFor::kRead, kRole), 0};
  // A slot that is being written is unreadable for a moment; the other one then serves.
  const HeadPair heads = readHeads(paths.head());
  if (!heads.newest) throw AuditUnavailable(AuditFault::kTampered, "audit head: it is not readable");
  log.end = std::min(heads.newest->size, sizeOf(log.file, kRole));
  return log;
}

ParsedLine parsed(std::string_view text) {
  auto line = parseLine(text);
  if (!line) throw AuditUnavailable(AuditFault::kTampered, "audit log: a line is not of its format");
  return std::move(*line);
}

std::optional<std::string_view> nextLine(LineReader& reader) {
  const auto text = reader.next();
  if (reader.overlong()) throw AuditUnavailable(AuditFault::kTampered, "audit log: a line is too long");
  return text;
}

// Offset of the first whole line at or after `at`, and its number; nothing if there is none before the end.
struct Found {
  std::uint64_t offset = 0;
  std::uint64_t sequence = 0;
};
std::optional<Found> lineFrom(const OpenLog& log, std::uint64_t at) {
  LineReader reader(log.file, at, log.end);
  if (at > 0 && !reader.next()) return std::nullopt;
  const std::uint64_t offset = reader.offset();
  const auto text = reader.next();
  if (!text) return std::nullopt;
  return Found{offset, parsed(*text).line.sequence};
}

// Offset of the line that follows number `after`: lines are in order, so halve the file.
std::uint64_t offsetAfter(const OpenLog& log, std::uint64_t after) {
  std::uint64_t low = 0;
  std::uint64_t high = log.end;
  std::uint64_t best = 0;
  while (after > 0 && high - low > kMaxLineBytes) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto found = lineFrom(log, middle);
    if (found && found->sequence <= after) {
      best = found->offset;
      low = std::max(found->offset, middle);
    } else {
      high = middle;
    }
  }
  return best;
}

template <typename Work>
auto translated(Work&& work) {
  try {
    return work();
  } catch (const FileError& error) {
    throw AuditUnavailable(faultOf(error), error.what());
  }
}

std::string rfc3339(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto ms = static_cast<unsigned long>((time - day).count());
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02lu:%02lu:%02lu.%03luZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
                ms % 1000);
  return text.data();
}

// Values are numbers, hex, labels and codes; none of them can hold a character that JSON escapes, so quoting
// is all.
class JsonObject {
 public:
  explicit JsonObject(std::ostream& out) : out_(out) { out_ << '{'; }
  void put(std::string_view name, std::string_view text) { begin(name) << '"' << text << '"'; }
  void put(std::string_view name, std::uint64_t number) { begin(name) << number; }
  template <typename Text>
  void put(std::string_view name, const std::optional<Text>& text) {
    if (text) return put(name, std::string_view(text->text()));
    begin(name) << "null";
  }
  void putNull(std::string_view name) { begin(name) << "null"; }
  void end() { out_ << "}\n"; }

 private:
  std::ostream& begin(std::string_view name) {
    out_ << (first_ ? "\"" : ",\"") << name << "\":";
    first_ = false;
    return out_;
  }
  std::ostream& out_;
  bool first_ = true;
};

void putBody(JsonObject& json, const Genesis& body) {
  json.put("kind", "genesis");
  json.put("key", toHex(body.key));
}
void putBody(JsonObject& json, const Seal& body) {
  json.put("kind", "seal");
  json.put("epoch", body.epoch);
  json.put("key", toHex(body.key));
}
void putBody(JsonObject& json, const Gap& body) {
  json.put("kind", "gap");
  json.put("bytes", body.bytes);
  json.put("digest", toHex(body.digest.bytes));
}
void putBody(JsonObject& json, const Void& body) {
  json.put("kind", "void");
  json.put("first", body.first);
  json.put("last", body.last);
}
void putBody(JsonObject& json, const Record& body) {
  json.put("kind", "record");
  if (body.actionId.empty()) {
    json.putNull("actionId");
  } else {
    json.put("actionId", body.actionId);
  }
  json.put("revision", std::uint64_t{body.revision});
  json.put("family", body.family.text());
  json.put("operation", body.operation.text());
  json.put("requester", body.requester.text());
  json.put("approver", body.approver);
  json.put("decision", body.decision.text());
  json.put("idempotency", body.idempotency.text());
  json.put("result", body.result.text());
  json.put("target", body.target);
  json.put("failure", body.failure);
  json.put("redactionVersion", std::uint64_t{body.redactionVersion});
  json.put("bytesIn", body.counts.bytesIn);
  json.put("bytesOut", body.counts.bytesOut);
  json.put("denials", body.counts.denials);
  if (body.requestDigest) {
    json.put("requestDigest", toHex(body.requestDigest->bytes));
  } else {
    json.putNull("requestDigest");
  }
}

void putLine(std::ostream& out, const ParsedLine& parsedLine) {
  const Line& line = parsedLine.line;
  JsonObject json(out);
  json.put("sequence", line.sequence);
  json.put("time", rfc3339(line.time));
  json.put("clock", line.clock == ClockNote::kForward ? "forward" : "back");
  std::visit([&json](const auto& body) { putBody(json, body); }, line.body);
  json.put("previous", toHex(line.previous.bytes));
  json.put("hash", toHex(parsedLine.storedHash.bytes));
  if (line.signature) {
    json.put("signature", toHex(*line.signature));
  } else {
    json.putNull("signature");
  }
  json.end();
}

}  // namespace

std::vector<Line> list(const AuditPaths& paths, std::uint64_t after, std::size_t limit) {
  return translated([&] {
    const OpenLog log = openForReading(paths);
    LineReader reader(log.file, offsetAfter(log, after), log.end);
    std::vector<Line> lines;
    limit = std::clamp<std::size_t>(limit, 1, kMaxList);
    while (lines.size() < limit) {
      const auto text = nextLine(reader);
      if (!text) break;
      ParsedLine line = parsed(*text);
      if (line.line.sequence > after) lines.push_back(std::move(line.line));
    }
    return lines;
  });
}

std::uint64_t exportTo(const AuditPaths& paths, std::ostream& out) {
  return translated([&] {
    const OpenLog log = openForReading(paths);
    LineReader reader(log.file, 0, log.end);
    std::uint64_t lines = 0;
    while (const auto text = nextLine(reader)) {
      putLine(out, parsed(*text));
      ++lines;
    }
    return lines;
  });
}

}  // namespace factionos::audit
