#include "broker/redaction/pattern_set.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <hs.h>

#include "broker/redaction/shapes.h"

namespace factionos::redaction {

struct PatternSet::Database {
  hs_database_t* handle = nullptr;
  Database() = default;
  ~Database() { hs_free_database(handle); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
};

namespace {

void check(hs_error_t error, const char* what) {
  if (error != HS_SUCCESS) throw MaskerFault(what);
}

struct ScratchDeleter {
  void operator()(hs_scratch_t* scratch) const noexcept { hs_free_scratch(scratch); }
};
struct StreamDeleter {
  void operator()(hs_stream_t* stream) const noexcept { hs_close_stream(stream, nullptr, nullptr, nullptr); }
};

template <typename DatabasePtr>
class VectorscanScanner final : public PrefixScanner {
 public:
  explicit VectorscanScanner(DatabasePtr database) : database_(std::move(database)) {
    events_.reserve(kMaxEvents);
    hs_scratch_t* scratch = nullptr;
    check(hs_alloc_scratch(database_->handle, &scratch), "no scratch space for the pattern matcher");
    scratch_.reset(scratch);
    for (auto& projection : streams_) {
      hs_stream_t* stream = nullptr;
      check(hs_open_stream(database_->handle, 0, &stream), "no stream for the pattern matcher");
      projection.stream.reset(stream);
    }
  }

  std::span<const PrefixEvent> scan(Projection projection, std::string_view text) override {
    Stream& target = streams_[static_cast<std::size_t>(projection)];
    events_.clear();
    base_ = target.offset;
    check(hs_scan_stream(target.stream.get(), text.data(), static_cast<unsigned>(text.size()), 0,
                         scratch_.get(), &VectorscanScanner::onMatch, this),
          "the pattern matcher failed");
    target.offset += text.size();
    std::sort(events_.begin(), events_.end());
    return events_;
  }

 private:
  struct Stream {
    std::unique_ptr<hs_stream_t, StreamDeleter> stream;
    std::uint64_t offset = 0;
  };

  static int onMatch(unsigned id, unsigned long long /*from*/, unsigned long long to, unsigned /*flags*/,
                     void* context) noexcept {
    auto* self = static_cast<VectorscanScanner*>(context);
    if (self->events_.size() == kMaxEvents) return 1;  // ends the scan with an error
    self->events_.push_back({static_cast<std::uint32_t>(to - self->base_), static_cast<std::uint16_t>(id)});
    return 0;
  }

  DatabasePtr database_;
  std::unique_ptr<hs_scratch_t, ScratchDeleter> scratch_;
  std::array<Stream, 3> streams_;
  std::vector<PrefixEvent> events_;
  std::uint64_t base_ = 0;
};

}  // namespace

PatternSet::PatternSet() {
  std::vector<std::string> expressions;
  std::vector<const char*> pointers;
  std::vector<unsigned> flags;
  std::vector<unsigned> ids;
  for (const Shape& shape : shapes()) {
    const char* edge = shape.edge == Shape::Edge::kWord ? "(?:^|[^A-Za-z0-9])" : "";
    expressions.push_back(edge + ("(?:" + std::string(shape.prefix) + ")"));
  }
  for (const std::string& expression : expressions) {
    ids.push_back(static_cast<unsigned>(ids.size()));
    flags.push_back(HS_FLAG_DOTALL);
    pointers.push_back(expression.c_str());
  }
  auto database = std::make_shared<Database>();
  hs_compile_error_t* error = nullptr;
  const hs_error_t result =
      hs_compile_multi(pointers.data(), flags.data(), ids.data(), static_cast<unsigned>(pointers.size()),
                       HS_MODE_STREAM, nullptr, &database->handle, &error);
  if (error != nullptr) {
    const std::string message = error->message;
    hs_free_compile_error(error);
    throw MaskerFault("a token format does not compile: " + message);
  }
  check(result, "the token formats do not compile");
  database_ = std::move(database);
}

PatternSet::~PatternSet() = default;

std::unique_ptr<PrefixScanner> PatternSet::open() const {
  return std::make_unique<VectorscanScanner<std::shared_ptr<const Database>>>(database_);
}

}  // namespace factionos::redaction
