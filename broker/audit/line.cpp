#include "broker/audit/line.h"

#include <charconv>
#include <type_traits>

namespace factionos::audit {
namespace {

constexpr std::string_view kVersion = "fa1";
constexpr std::string_view kNone = "-";

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}
  void put(std::string_view key, std::string_view value) {
    out_.append(" ").append(key).append("=").append(value);
  }
  void put(std::string_view key, std::uint64_t value) { put(key, std::string_view(std::to_string(value))); }
  template <typename Text>
  void put(std::string_view key, const std::optional<Text>& value) {
    put(key, value ? std::string_view(value->text()) : kNone);
  }

 private:
  std::string& out_;
};

// Takes " key=value" fields off the front of a text, in the order asked for. After the first that does not
// fit, all further reads are empty and `good` is false.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  std::string_view take(std::string_view key) {
    if (!good_ || rest_.size() < key.size() + 2 || rest_[0] != ' ' || rest_.substr(1, key.size()) != key ||
        rest_[key.size() + 1] != '=') {
      return fail(), std::string_view();
    }
    rest_.remove_prefix(key.size() + 2);
    const std::string_view value = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(value.size());
    return value;
  }

  std::uint64_t number(std::string_view key) {
    const std::string_view text = take(key);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail();
    return value;
  }

  template <typename Text>
  std::optional<Text> optionalText(std::string_view key) {
    const std::string_view text = take(key);
    if (text == kNone) return std::nullopt;
    std::optional<Text> value = Text::parse(text);
    if (!value) fail();
    return value;
  }

  template <std::size_t kSize>
  std::array<std::uint8_t, kSize> bytes(std::string_view key) {
    std::array<std::uint8_t, kSize> value{};
    if (!fromHex(take(key), value)) fail();
    return value;
  }

  void fail() { good_ = false; }
  bool good() const { return good_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void putBody(FieldWriter& out, const Genesis& body) {
  out.put("kind", "genesis");
  out.put("key", toHex(body.key));
}

void putBody(FieldWriter& out, const Seal& body) {
  out.put("kind", "seal");
  out.put("epoch", body.epoch);
  out.put("key", toHex(body.key));
}

void putBody(FieldWriter& out, const Gap& body) {
  out.put("kind", "gap");
  out.put("bytes", body.bytes);
  out.put("digest", toHex(body.digest.bytes));
}

void putBody(FieldWriter& out, const Void& body) {
  out.put("kind", "void");
  out.put("first", body.first);
  out.put("last", body.last);
}

void putBody(FieldWriter& out, const Record& body) {
  out.put("kind", "record");
  out.put("action", body.actionId.empty() ? kNone : std::string_view(body.actionId));
  out.put("revision", std::uint64_t{body.revision});
  out.put("family", body.family.text());
  out.put("operation", body.operation.text());
  out.put("requester", body.requester.text());
  out.put("approver", body.approver);
  out.put("decision", body.decision.text());
  out.put("idempotency", body.idempotency.text());
  out.put("result", body.result.text());
  out.put("target", body.target);
  out.put("failure", body.failure);
  out.put("redaction", std::uint64_t{body.redactionVersion});
  out.put("in", body.counts.bytesIn);
  out.put("out", body.counts.bytesOut);
  out.put("denials", body.counts.denials);
  out.put("request", body.requestDigest ? toHex(body.requestDigest->bytes) : std::string(kNone));
}

std::optional<Record> readRecord(FieldReader& in) {
  const std::string_view action = in.take("action");
  if (action != kNone && !isActionId(action)) in.fail();
  const std::uint64_t revision = in.number("revision");
  const auto family = in.optionalText<Code>("family");
  const auto operation = in.optionalText<Code>("operation");
  const auto requester = in.optionalText<Label>("requester");
  const auto approver = in.optionalText<Label>("approver");
  const auto decision = in.optionalText<Code>("decision");
  const auto idempotency = in.optionalText<Code>("idempotency");
  const auto result = in.optionalText<Code>("result");
  const auto target = in.optionalText<Label>("target");
  const auto failure = in.optionalText<Code>("failure");
  const std::uint64_t redaction = in.number("redaction");
  RecordCounts counts;
  counts.bytesIn = in.number("in");
  counts.bytesOut = in.number("out");
  counts.denials = in.number("denials");
  const std::string_view request = in.take("request");
  const std::optional<Digest> digest = request == kNone ? std::nullopt : digestFromHex(request);
  if (!in.good() || !family || !operation || !requester || !decision || !idempotency || !result ||
      (request != kNone && !digest) || revision > UINT32_MAX || redaction > UINT32_MAX) {
    return std::nullopt;
  }
  return Record{.actionId = action == kNone ? std::string() : std::string(action),
                .revision = static_cast<std::uint32_t>(revision),
                .family = *family,
                .operation = *operation,
                .requester = *requester,
                .approver = approver,
                .decision = *decision,
                .idempotency = *idempotency,
                .result = *result,
                .target = target,
                .failure = failure,
                .redactionVersion = static_cast<std::uint32_t>(redaction),
                .counts = counts,
                .requestDigest = digest};
}

using Body = std::variant<Genesis, Seal, Gap, Void, Record>;

std::optional<Body> readBody(FieldReader& in) {
  const std::string_view kind = in.take("kind");
  if (kind == "genesis") return Genesis{in.bytes<kPublicKeyBytes>("key")};
  if (kind == "seal") {
    const std::uint64_t epoch = in.number("epoch");
    return Seal{epoch, in.bytes<kPublicKeyBytes>("key")};
  }
  if (kind == "gap") {
    const std::uint64_t bytes = in.number("bytes");
    return Gap{bytes, Digest{in.bytes<kDigestBytes>("digest")}};
  }
  if (kind == "void") {
    const std::uint64_t first = in.number("first");
    return Void{first, in.number("last")};
  }
  if (kind != "record") return std::nullopt;
  std::optional<Record> record = readRecord(in);
  if (!record) return std::nullopt;
  return std::move(*record);
}

std::string withTail(std::string content, const Digest& contentHash,
                     const std::optional<Signature>& signature) {
  FieldWriter out(content);
  out.put("hash", toHex(contentHash.bytes));
  out.put("sig", signature ? toHex(*signature) : std::string(kNone));
  return content;
}

// The reader takes numbers and hex in forms that encode() never writes ("007"); comparing with what it would
// write is what makes every line's text the only one of its value.
bool isCanonical(const Line& line, const Digest& storedHash, std::string_view content,
                 std::string_view text) {
  return encodeContent(line) == content && withTail(std::string(content), storedHash, line.signature) == text;
}

}  // namespace

bool isActionId(std::string_view text) {
  constexpr std::string_view kPrefix = "act_";
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  return text.size() == kPrefix.size() + 26 && text.starts_with(kPrefix) &&
         text.find_first_not_of(kAlphabet, kPrefix.size()) == std::string_view::npos;
}

std::string encodeContent(const Line& line) {
  std::string content(kVersion);
  FieldWriter out(content);
  out.put("seq", line.sequence);
  out.put("time", std::string_view(std::to_string(line.time.time_since_epoch().count())));
  out.put("clock", line.clock == ClockNote::kForward ? "forward" : "back");
  std::visit([&out](const auto& body) { putBody(out, body); }, line.body);
  out.put("prev", toHex(line.previous.bytes));
  return content;
}

std::string encode(const Line& line) {
  std::string content = encodeContent(line);
  const Digest contentHash = hash(asBytes(content));
  return withTail(std::move(content), contentHash, line.signature) + "\n";
}

std::string signedText(const Digest& contentHash) {
  std::string text = "factionos audit line 1 ";
  return text.append(toHex(contentHash.bytes));
}

std::optional<ParsedLine> parseLine(std::string_view text) {
  if (text.size() >= kMaxLineBytes || !text.starts_with(kVersion)) return std::nullopt;
  FieldReader in(text.substr(kVersion.size()));
  const std::uint64_t sequence = in.number("seq");
  const std::uint64_t time = in.number("time");
  const std::string_view clock = in.take("clock");
  std::optional<Body> body = readBody(in);
  const auto previous = in.bytes<kDigestBytes>("prev");
  const std::string_view content = text.substr(0, text.size() - in.rest().size());
  const auto storedHash = in.bytes<kDigestBytes>("hash");
  const std::string_view signature = in.take("sig");
  std::optional<Signature> signatureBytes;
  if (signature != kNone && !fromHex(signature, signatureBytes.emplace())) return std::nullopt;
  if (!in.good() || !in.rest().empty() || !body || (clock != "forward" && clock != "back") ||
      time > kLastTimeMs) {
    return std::nullopt;
  }
  ParsedLine parsed{.line = Line{.sequence = sequence,
                                 .time = Time(std::chrono::milliseconds(static_cast<std::int64_t>(time))),
                                 .clock = clock == "forward" ? ClockNote::kForward : ClockNote::kBack,
                                 .body = std::move(*body),
                                 .previous = Digest{previous},
                                 .signature = signatureBytes},
                    .storedHash = Digest{storedHash},
                    .contentHash = hash(asBytes(content)),
                    .lineHash = hash(asBytes(text))};
  if (!isCanonical(parsed.line, parsed.storedHash, content, text)) return std::nullopt;
  return parsed;
}

}  // namespace factionos::audit
