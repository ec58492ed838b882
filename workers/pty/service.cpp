#include "workers/pty/service.h"

#include <string>
#include <string_view>

#include <kj/async.h>

#include "protocol/rpc/descriptor.h"
#include "workers/pty/master.h"

namespace factionos::pty {
namespace {

void deny(schema::Denial::Builder denial, const char* code, const char* rule, std::string_view target = {}) {
  denial.setCode(code);
  denial.setRule(rule);
  if (!target.empty()) denial.setTarget(kj::heapString(target.data(), target.size()));
}

// One terminal: what Terminal's holder and the pump share.
class Attached : public kj::Refcounted {
 public:
  Attached(rpc::Loop& loop, rpc::OwnFd fd, schema::OutputSink::Client sink)
      : master_(loop, kj::mv(fd)),
        sink_(kj::mv(sink)),
        pump_(pump().catch_([this](kj::Exception&&) { lose(); }).eagerlyEvaluate(nullptr)) {}

  // One write after the other, in the order of the calls.
  kj::Promise<InputOutcome> input(kj::Array<kj::byte> data) {
    auto outcome = inputs_.addBranch().then(
        [this, data = kj::mv(data)]() mutable { return master_.write(kj::mv(data)); });
    auto forked = outcome.fork();
    inputs_ = forked.addBranch().ignoreResult().catch_([](kj::Exception&&) {}).fork();
    return forked.addBranch();
  }

  ResizeEnd resize(std::uint16_t columns, std::uint16_t rows) { return master_.resize(columns, rows); }

 private:
  // A chunk is read when the sink's window has room for it: a slow broker makes the program wait, never
  // memory grow.
  kj::Promise<void> pump() {
    return master_.read().then([this](kj::ArrayPtr<const kj::byte> bytes) -> kj::Promise<void> {
      if (bytes.size() == 0) return finish();
      total_ += bytes.size();
      auto request = sink_.writeRequest(capnp::MessageSize{bytes.size() / sizeof(capnp::word) + 16, 1});
      request.setBytes(bytes);
      return request.send().then([this]() { return pump(); });
    });
  }

  kj::Promise<void> finish() {
    master_.close();
    auto request = sink_.endRequest();
    request.setTotalBytes(total_);
    return request.send().ignoreResult();
  }

  // The sink is gone: nobody reads this terminal any more. Closing it hangs it up.
  void lose() { master_.close(); }

  Master master_;
  schema::OutputSink::Client sink_;
  std::uint64_t total_ = 0;
  kj::ForkedPromise<void> inputs_ = kj::Promise<void>(kj::READY_NOW).fork();
  kj::Promise<void> pump_;
};

class TerminalServer final : public schema::Terminal::Server {
 public:
  explicit TerminalServer(kj::Own<Attached> attached) : attached_(kj::mv(attached)) {}

  kj::Promise<void> input(InputContext context) override {
    auto data = kj::heapArray<kj::byte>(context.getParams().getData());
    context.releaseParams();
    return attached_->input(kj::mv(data)).then([context](InputOutcome outcome) mutable {
      switch (outcome.end) {
        case InputEnd::kTaken:
          return;
        case InputEnd::kLineTooLong:
          return deny(context.getResults().initDenial(), "line_too_long", "canonical_line_4095");
        case InputEnd::kFull:
          return deny(context.getResults().initDenial(), "input_full", "program_does_not_read",
                      std::to_string(outcome.written));
        case InputEnd::kTooLarge:
          return deny(context.getResults().initDenial(), "input_too_large", "input_65536");
        case InputEnd::kEnded:
          return deny(context.getResults().initDenial(), "ended", "terminal");
      }
    });
  }

  kj::Promise<void> resize(ResizeContext context) override {
    const auto params = context.getParams();
    switch (attached_->resize(params.getCols(), params.getRows())) {
      case ResizeEnd::kDone:
        break;
      case ResizeEnd::kInvalid:
        deny(context.getResults().initDenial(), "window_invalid", "window_1_to_1000");
        break;
      case ResizeEnd::kEnded:
        deny(context.getResults().initDenial(), "ended", "terminal");
        break;
    }
    return kj::READY_NOW;
  }

 private:
  kj::Own<Attached> attached_;
};

class Service final : public schema::Pty::Server {
 public:
  explicit Service(rpc::Loop& loop) : loop_(loop) {}

  kj::Promise<void> attach(AttachContext context) override {
    if (state_ != State::kWaiting) {
      deny(context.getResults().initDenial(), "already_attached", "once");
      return kj::READY_NOW;
    }
    state_ = State::kAttached;
    auto sink = context.getParams().getSink();
    return rpc::takeDescriptor(context.getParams().getMaster())
        .then([this, context, sink = kj::mv(sink)](rpc::OwnFd fd) mutable {
          auto attached = kj::refcounted<Attached>(loop_, kj::mv(fd), kj::mv(sink));
          context.getResults().setTerminal(kj::heap<TerminalServer>(kj::addRef(*attached)));
          attached_ = kj::mv(attached);  // the pump goes on when the terminal's holder lets go
        })
        .catch_([context](kj::Exception&&) mutable {
          deny(context.getResults().initDenial(), "master_refused", "terminal_descriptor");
        });
  }

 private:
  enum class State { kWaiting, kAttached };

  rpc::Loop& loop_;
  State state_ = State::kWaiting;
  kj::Maybe<kj::Own<Attached>> attached_;
};

}  // namespace

schema::Pty::Client makeService(rpc::Loop& loop) {
  return kj::heap<Service>(loop);
}

}  // namespace factionos::pty
