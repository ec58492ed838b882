#include "broker/audit/log_writer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sodium.h>
#include <sys/stat.h>

namespace factionos::audit {
namespace {

constexpr std::string_view kRole = "audit log";

Time within(Time time) {
  const Time last{std::chrono::milliseconds(static_cast<std::int64_t>(kLastTimeMs))};
  return std::clamp(time, Time{}, last);
}

// Numbers, chains and signs lines, one after the other.
class Composer {
 public:
  Composer(Chain::Point end, Time now, const EpochKey& key) : end_(end), now_(now), key_(key) {}

  enum class Place { kInside, kLast };
  void add(std::variant<Genesis, Seal, Gap, Void, Record> body, Place place) {
    Line line{.sequence = end_.sequence + 1,
              .time = now_,
              .clock = now_ < end_.time ? ClockNote::kBack : ClockNote::kForward,
              .body = std::move(body),
              .previous = end_.hash,
              .signature = std::nullopt};
    if (place == Place::kLast) line.signature = key_.sign(signedText(hash(asBytes(encodeContent(line)))));
    const std::string encoded = encode(line);
    text_ += encoded;
    end_ = Chain::Point{.sequence = line.sequence,
                        .end = end_.end + encoded.size(),
                        .hash = hash(asBytes(std::string_view(encoded).substr(0, encoded.size() - 1))),
                        .time = now_};
  }

  const std::string& text() const { return text_; }
  const Chain::Point& end() const { return end_; }

 private:
  Chain::Point end_;
  Time now_;
  const EpochKey& key_;
  std::string text_;
};

void makeDirectory(const std::filesystem::path& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    throw FileError(FileFault::kIo, "audit directory", "can't be made", errno);
  }
  syncDirectory(directory.parent_path(), "audit directory");
}

}  // namespace

struct LogWriter::Batch {
  std::string text;
  Chain::Point end;
};

std::string LogWriter::create(const AuditPaths& paths, const AuditOptions& options) {
  FileOps real;
  FileOps& ops = options.files != nullptr ? *options.files : real;
  makeDirectory(paths.directory());
  const EpochKey key = EpochKey::generate(1);
  key.store(paths.key(), ops);
  const FileDescriptor log = createOwn(paths.log(), kRole);
  Composer composer(Chain::Point{}, within(options.clock()), key);
  composer.add(Genesis{key.publicKey()}, Composer::Place::kLast);
  writeAt(ops, log, asBytes(composer.text()), 0, kRole);
  audit::sync(ops, log, kRole);
  Head head{
      .epoch = 1, .sequence = 1, .size = composer.end().end, .epochStart = 0, .hash = composer.end().hash};
  HeadFile::create(paths.head(), head, key, ops);
  return toHex(key.publicKey());
}

LogWriter::LogWriter(const AuditPaths& paths, const AuditOptions& options, LogFiles files, const Scan& scan)
    : paths_(paths),
      options_(options),
      files_(std::move(files)),
      end_(scan.chain.signedEnd()),
      epoch_(scan.chain.epoch()),
      epochStart_(scan.chain.epochStart()),
      epochStartSequence_(scan.chain.epochStartSequence()),
      tailDirty_(scan.tornBytes > 0),
      headStale_(!scan.signedPastHead.empty()) {}

void LogWriter::markVoid(std::optional<AppendedRange> range) {
  if (!range) return;
  void_ = void_ ? AppendedRange{std::min(void_->first, range->first), std::max(void_->last, range->last)}
                : *range;
}

void LogWriter::checkNamed() const {
  if (!stillNames(paths_.log(), files_.log) || !files_.head.stillNamed()) {
    throw AuditUnavailable(AuditFault::kPathReplaced, "audit log: a file was moved or replaced while in use");
  }
}

void LogWriter::settle() {
  checkNamed();
  if (keyStale_) replaceKey();
  if (headStale_) writeHead();
}

std::optional<Gap> LogWriter::gapAtEnd() const {
  const std::uint64_t size = sizeOf(files_.log, kRole);
  if (!tailDirty_ || size <= end_.end) return std::nullopt;
  crypto_generichash_state hashing;
  crypto_generichash_init(&hashing, nullptr, 0, kDigestBytes);
  std::vector<std::uint8_t> piece(64 * 1024);
  for (std::uint64_t at = end_.end; at < size;) {
    const std::size_t got = readAt(files_.log, piece, at, kRole);
    if (got == 0) break;
    crypto_generichash_update(&hashing, piece.data(), got);
    at += got;
  }
  Gap gap{.bytes = size - end_.end, .digest = {}};
  crypto_generichash_final(&hashing, gap.digest.bytes.data(), kDigestBytes);
  return gap;
}

std::vector<LogWriter::Body> LogWriter::mendingLines() {
  std::vector<Body> bodies;
  if (const auto gap = gapAtEnd()) bodies.emplace_back(*gap);
  if (void_) bodies.emplace_back(Void{void_->first, void_->last});
  return bodies;
}

LogWriter::Batch LogWriter::compose(std::vector<Body> bodies) const {
  Composer composer(end_, within(options_.clock()), files_.key);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    composer.add(std::move(bodies[i]),
                 i + 1 == bodies.size() ? Composer::Place::kLast : Composer::Place::kInside);
  }
  return Batch{composer.text(), composer.end()};
}

void LogWriter::put(const Batch& batch) {
  std::string text = batch.text;
  const bool longerTail = sizeOf(files_.log, kRole) > batch.end.end;
  // Until the old tail is cut off, this byte keeps a whole line in it from looking like one of ours.
  if (longerTail) text.push_back('\0');
  tailDirty_ = true;
  reach(FaultPoint::kBeforeAuditWrite);
  writeAt(ops(), files_.log, asBytes(text), end_.end, kRole);
  reach(FaultPoint::kAfterAuditWrite);
  if (longerTail && ops().truncate(files_.log.get(), static_cast<off_t>(batch.end.end)) != 0) {
    throw FileError(FileFault::kIo, kRole, "can't be cut", errno);
  }
  audit::sync(ops(), files_.log, kRole);
  end_ = batch.end;
  tailDirty_ = false;
  headStale_ = true;
  void_.reset();
}

void LogWriter::writeHead() {
  const Head head{.epoch = epoch_,
                  .sequence = end_.sequence,
                  .size = end_.end,
                  .epochStart = epochStart_,
                  .hash = end_.hash};
  files_.head.write(head, files_.key, ops());
  reach(FaultPoint::kAfterHeadWrite);
  files_.head.sync(ops());
  headStale_ = false;
  reach(FaultPoint::kAfterHeadSync);
}

AppendedRange LogWriter::append(std::span<const Record> records) {
  for (const Record& record : records) {
    if (!record.actionId.empty() && !isActionId(record.actionId)) {
      throw AuditUnavailable(AuditFault::kRecord, "audit log: a record names no valid action id");
    }
  }
  settle();
  if (end_.sequence - epochStartSequence_ >= options_.recordsPerEpoch) roll();
  std::vector<Body> bodies = mendingLines();
  bodies.insert(bodies.end(), records.begin(), records.end());
  if (bodies.empty()) return {};
  const Batch batch = compose(std::move(bodies));
  put(batch);
  const AppendedRange range{end_.sequence - records.size() + 1, end_.sequence};
  try {
    reach(FaultPoint::kAfterAuditSync);
    writeHead();
    checkNamed();
  } catch (...) {
    // Durable, but the caller is told that it is not.
    markVoid(range);
    throw;
  }
  return range;
}

void LogWriter::roll() {
  settle();
  // Mended first: a half written seal names a key that must not be thrown away before the seal is.
  if (std::vector<Body> mending = mendingLines(); !mending.empty()) {
    put(compose(std::move(mending)));
    writeHead();
  }
  EpochKey::discard(paths_.nextKey(), ops());
  EpochKey next = EpochKey::generate(epoch_ + 1);
  next.store(paths_.nextKey(), ops());
  reach(FaultPoint::kAfterNextKeyWrite);
  std::vector<Body> seal;
  seal.emplace_back(Seal{epoch_ + 1, next.publicKey()});
  const std::uint64_t start = end_.end;
  put(compose(std::move(seal)));
  files_.key = std::move(next);
  keyStale_ = true;
  ++epoch_;
  epochStart_ = start;
  epochStartSequence_ = end_.sequence;
  reach(FaultPoint::kAfterSealSync);
  replaceKey();
  reach(FaultPoint::kAfterKeyReplace);
  writeHead();
}

void LogWriter::replaceKey() {
  EpochKey::replace(paths_.nextKey(), paths_.key(), ops());
  keyStale_ = false;
}

}  // namespace factionos::audit
