#include "tests/hostile/pty_scenarios.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

#include <capnp/any.h>

#include "protocol/schemas/front.capnp.h"
#include "protocol/schemas/launcher.capnp.h"
#include "protocol/schemas/operator.capnp.h"
#include "protocol/schemas/session.capnp.h"
#include "sandbox/events.h"
#include "tests/hostile/acts.h"
#include "tests/hostile/wire.h"
#include "workers/common/start.h"

namespace factionos::hostile {
namespace {

// The broker's exports on this line, in the order of attach's parameters: the master's carrier, the sink.
constexpr std::uint32_t kSink = 1;
constexpr std::uint32_t kFirstQuestion = 3'000'000;
constexpr std::size_t kChunk = 64 * 1024;

pid_t brokerProcess() {
  ucred maker{};
  socklen_t size = sizeof maker;
  getsockopt(worker::kLine, SOL_SOCKET, SO_PEERCRED, &maker, &size);
  return maker.pid;
}

void writeEvents(std::size_t count, const sandbox::Event& event) {
  for (std::size_t each = 0; each < count; ++each) sandbox::writeEvent(worker::kEvents, event);
}

// A write of `bytes`, with its answer let go of: a flood that keeps the protocol.
bool pushRaw(std::uint32_t question, std::size_t bytes, kj::ArrayPtr<const int> descriptors = nullptr) {
  const bool sent = sendMessage(
      [&](capnp::rpc::Message::Builder message) {
        auto call = message.initCall();
        call.setQuestionId(question);
        call.initTarget().setImportedCap(kSink);
        call.setInterfaceId(capnp::typeId<schema::OutputSink>());
        call.setMethodId(0);
        auto data = call.initParams().getContent().initAs<schema::OutputSink::WriteParams>().initBytes(
            static_cast<unsigned>(bytes));
        std::memset(data.begin(), 'x', data.size());
      },
      descriptors);
  return sent && sendFinish(question);
}

enum class Answers { kRead, kLeft };
void flood(std::size_t bytes, Answers answers) {
  for (std::uint32_t question = kFirstQuestion; pushRaw(question, bytes); ++question) {
    if (answers == Answers::kRead) drainLine();
  }
}

void floodOfBootstraps() {
  for (std::uint32_t question = kFirstQuestion;; ++question) {
    if (!sendMessage(
            [question](capnp::rpc::Message::Builder m) { m.initBootstrap().setQuestionId(question); }) ||
        !sendFinish(question))
      return;
    drainLine();
  }
}

// Every method of every other interface there is, called on the one capability that it has.
template <typename Interface>
void callAll(std::uint32_t& question) {
  for (std::uint16_t method = 0; method < 20; ++method)
    sendCall(question++, kSink, capnp::typeId<Interface>(), method, [](auto&&) {});
}
void callOtherInterfaces() {
  std::uint32_t question = kFirstQuestion;
  callAll<schema::Session>(question);
  callAll<schema::Worker>(question);
  callAll<schema::Launcher>(question);
  callAll<schema::Gate>(question);
  callAll<schema::Api>(question);
  callAll<schema::OperatorGate>(question);
  callAll<schema::Operator>(question);
}

// Lists in lists, deeper than the line's limit, where write expects its parameters.
void malformedParameters() {
  sendCall(kFirstQuestion, kSink, capnp::typeId<schema::OutputSink>(), 0,
           [](capnp::AnyPointer::Builder content) {
             for (int depth = 0; depth < 100; ++depth)
               content = content.initAsListOfAnyStruct(0, 1, 1)[0].getPointerSection()[0];
           });
}

// A terminal that never answers, and one that lies in its denials.
class Terminal final : public schema::Terminal::Server {
 public:
  enum class Manner { kSilent, kLying, kEndless };
  explicit Terminal(Manner manner) : manner_(manner) {}

  kj::Promise<void> input(InputContext context) override {
    if (manner_ == Manner::kSilent) return kj::NEVER_DONE;
    auto denial = context.getResults().initDenial();
    denial.setCode("\x1b[2J/etc/shadow\n\xe2\x80\xae");
    denial.setRule(kj::str(kj::repeat('R', manner_ == Manner::kLying ? 100'000 : 2'000'000)));
    denial.setTarget("canary-of-a-lying-worker\r\n");
    return kj::READY_NOW;
  }
  kj::Promise<void> resize(ResizeContext) override { return kj::NEVER_DONE; }

 private:
  Manner manner_;
};

}  // namespace

kj::Promise<void> Bad::attach(const std::string& scenario, AttachContext context) {
  if (scenario == "attach_never_answered") return kj::NEVER_DONE;
  if (scenario == "attach_throws") return KJ_EXCEPTION(FAILED, "/etc/shadow");
  using Manner = Terminal::Manner;
  const Manner manner = scenario == "input_never_answered" ? Manner::kSilent
                        : scenario == "denial_too_large"   ? Manner::kEndless
                                                           : Manner::kLying;
  context.getResults().setTerminal(kj::heap<Terminal>(manner));
  // The answer leaves first.
  doing_ = loop_.timer()
               .afterDelay(20 * kj::MILLISECONDS)
               .then([this, scenario]() { return carryOut(scenario); })
               .eagerlyEvaluate([](kj::Exception&&) {});
  return kj::READY_NOW;
}

kj::Promise<void> Bad::write(std::size_t bytes) {
  auto request = sink_.writeRequest();
  std::memset(request.initBytes(static_cast<unsigned>(bytes)).begin(), 'x', bytes);
  sent_ += bytes;
  return request.send();
}

kj::Promise<void> Bad::end(std::uint64_t total) {
  auto request = sink_.endRequest();
  request.setTotalBytes(total);
  return request.send().ignoreResult();
}

// The honest work, badly: a byte a call.
kj::Promise<void> Bad::pump() {
  return loop_.waitReadable(master_.get()).then([this]() -> kj::Promise<void> {
    char byte = 0;
    if (read(master_.get(), &byte, 1) != 1) return end(sent_);
    auto request = sink_.writeRequest();
    request.setBytes({reinterpret_cast<const kj::byte*>(&byte), 1});
    ++sent_;
    return request.send().then([this]() { return pump(); });
  });
}

kj::Promise<void> Bad::carryOut(const std::string& scenario) {
  if (const Act* act = findAct(scenario)) {
    act->run({brokerProcess(), argument_});
    return kj::READY_NOW;
  }
  if (const Breach* breach = findBreach(scenario)) {
    breach->commit();
    return kj::NEVER_DONE;
  }
  const sandbox::Event harmless{sandbox::EventCode::kServing, {}};
  if (scenario == "chunk_too_large") return write(kChunk + 1);
  if (scenario == "end_with_wrong_count") return write(10).then([this]() { return end(11); });
  if (scenario == "output_after_end")
    return write(10).then([this]() { return end(10); }).then([this]() { return write(1); });
  if (scenario == "end_twice") return end(0).then([this]() { return end(0); });
  if (scenario == "garbage_after_end") return end(0).then([]() { findBreach("noise")->commit(); });
  if (scenario == "method_that_is_not")
    sendCall(kFirstQuestion, kSink, capnp::typeId<schema::OutputSink>(), 7, [](auto&&) {});
  if (scenario == "interfaces_of_others") callOtherInterfaces();
  if (scenario == "malformed_parameters") malformedParameters();
  if (scenario == "event_flood") writeEvents(1000, harmless);
  if (scenario == "event_noise") (void)!::write(worker::kEvents, "an exit report of another worker", 32);
  if (scenario == "event_torn") (void)!::write(worker::kEvents, "torn", 4);
  if (scenario == "event_forged_trap") {
    writeEvents(1, {sandbox::EventCode::kTrapped, {231, 0xc000003e, 0}});
    _exit(0);
  }
  if (scenario == "line_given_up") shutdown(worker::kLine, SHUT_RDWR);
  if (scenario == "goodbye")
    sendMessage([](capnp::rpc::Message::Builder m) { m.initAbort().setReason("/etc/shadow"); });
  if (scenario == "exit") _exit(0);
  if (scenario == "flood_of_calls") flood(1, Answers::kRead);
  if (scenario == "flood_of_bytes") flood(kChunk, Answers::kRead);
  if (scenario == "flood_of_bootstraps") floodOfBootstraps();
  if (scenario == "answers_never_read") flood(1, Answers::kLeft);
  if (scenario == "surplus_descriptors") {
    std::array<int, 20> many;
    many.fill(worker::kLine);
    for (std::uint32_t question = kFirstQuestion; question < kFirstQuestion + 2000; ++question, ++sent_) {
      pushRaw(question, 1, kj::arrayPtr(many.data(), many.size()));
      drainLine();
    }
    drainUntilQuiet();
    return pump();
  }
  if (scenario == "honest" || scenario == "input_never_answered" || scenario == "input_lies" ||
      scenario == "denial_too_large")
    return pump();
  return kj::NEVER_DONE;  // silent
}

}  // namespace factionos::hostile
