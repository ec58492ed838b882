#include "tests/fuzz/rpc_peer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include "protocol/rpc/descriptor.h"
#include "protocol/rpc/quiet.h"

namespace factionos::fuzz {
namespace {

constexpr int kMostMessages = 48;
constexpr int kDeepest = 5;
constexpr unsigned kMostItems = 4;

rpc::OwnFd pipeEnd() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  close(ends[1]);
  return rpc::OwnFd(ends[0]);
}

}  // namespace

rpc::Loop& loop() {
  // The git worker's objects are not to be shared by threads, and what a thread does when depends on no
  // input.
  static rpc::Loop& one = *(setenv("UV_THREADPOOL_SIZE", "1", 1), new rpc::Loop(rpc::Diagnostics::kKj));
  return one;
}

void finishJobs() {
  loop().blocking([]() {}).wait(loop().waitScope());
}

void Peer::speak() {
  for (int messages = 0; messages < kMostMessages && open_ && bytes_.remaining_bytes() > 0; ++messages) {
    switch (bytes_.ConsumeIntegralInRange(0, 11)) {
      case 0:
        say([this](Message::Builder message) { message.initBootstrap().setQuestionId(question_++); });
        break;
      case 1:
      case 2:
        say([this](Message::Builder message) { answer(message); });
        break;
      case 3:
        say([this](Message::Builder message) { other(message); });
        break;
      case 4: {
        const auto raw = bytes_.ConsumeRandomLengthString(256);
        send(kj::arrayPtr(raw.data(), raw.size()).asBytes());
        break;
      }
      default:
        say([this](Message::Builder message) { call(message); });
    }
    listen();
  }
}

void Peer::begin() {
  if (bytes_.ConsumeIntegralInRange(0, 15) != 15)
    say([this](Message::Builder message) { message.initBootstrap().setQuestionId(question_++); });
  listen();
}

void Peer::give(std::uint32_t question, kj::ArrayPtr<const capnp::StructSchema> results) {
  capnp::MallocMessageBuilder builder;
  auto answer = builder.initRoot<Message>().initReturn();
  answer.setAnswerId(question);
  auto payload = answer.initResults();
  capnp::BuilderCapabilityTable capabilities;
  auto content = capabilities.imbue(payload.getContent());
  capnp::Capability::Client stub(KJ_EXCEPTION(FAILED, "never called here"));
  if (results.size() == 0) {
    content.setAs<capnp::Capability>(stub);
  } else {
    auto shape = content.initAs<capnp::DynamicStruct>(results[0]);
    const auto field = results[0].getFields()[0];
    shape.set(field, stub.castAs<capnp::DynamicCapability>(field.getType().asInterface()));
  }
  payload.initCapTable(1)[0].setSenderHosted(0);
  const auto words = capnp::messageToFlatArray(builder);
  send(words.asBytes());
  listen();
}

void Peer::say(kj::FunctionParam<void(Message::Builder)> fill) {
  capnp::MallocMessageBuilder builder;
  fill(builder.initRoot<Message>());
  auto words = capnp::messageToFlatArray(builder);
  auto raw = words.asBytes();
  // Mostly sound; now and then some bytes are not what they were.
  for (int wounds = bytes_.ConsumeIntegralInRange(0, 15) - 11; wounds > 0 && raw.size() > 0; --wounds)
    raw[bytes_.ConsumeIntegralInRange<std::size_t>(0, raw.size() - 1)] = bytes_.ConsumeIntegral<kj::byte>();
  send(raw);
}

void Peer::call(Message::Builder message) {
  auto call = message.initCall();
  call.setQuestionId(question_++);
  target(call.initTarget());
  const auto interface =
      plan_.interfaces[bytes_.ConsumeIntegralInRange<std::size_t>(0, plan_.interfaces.size() - 1)];
  const auto methods = interface.getMethods();
  const auto method = methods[bytes_.ConsumeIntegralInRange<unsigned>(0, methods.size() - 1)];
  call.setInterfaceId(interface.getProto().getId());
  call.setMethodId(method.getOrdinal());
  fillPayload(call.initParams(), method.getParamType());
}

void Peer::target(capnp::rpc::MessageTarget::Builder target) {
  if (!exports_.empty() && bytes_.ConsumeBool()) {
    target.setImportedCap(anId(exports_));
    return;
  }
  auto promised = target.initPromisedAnswer();
  promised.setQuestionId(question_ < 2 ? 0 : bytes_.ConsumeIntegralInRange(0U, question_ - 2));
  auto transform = promised.initTransform(bytes_.ConsumeIntegralInRange(0U, 2U));
  for (auto step : transform) step.setGetPointerField(bytes_.ConsumeIntegralInRange<std::uint16_t>(0, 2));
}

void Peer::answer(Message::Builder message) {
  auto answer = message.initReturn();
  answer.setAnswerId(anId(questions_));
  switch (bytes_.ConsumeIntegralInRange(0, 4)) {
    case 0:
      answer.initException().setReason(text("reason"));
      break;
    case 1:
      answer.setCanceled();
      break;
    case 2:
      answer.setTakeFromOtherQuestion(smallId());
      break;
    default: {
      const auto interface =
          plan_.interfaces[bytes_.ConsumeIntegralInRange<std::size_t>(0, plan_.interfaces.size() - 1)];
      const auto methods = interface.getMethods();
      fillPayload(answer.initResults(),
                  methods[bytes_.ConsumeIntegralInRange<unsigned>(0, methods.size() - 1)].getResultType());
    }
  }
}

void Peer::other(Message::Builder message) {
  switch (bytes_.ConsumeIntegralInRange(0, 6)) {
    case 0:
      message.initFinish().setQuestionId(question_ - std::min(question_, 1 + smallId()));
      break;
    case 1: {
      auto release = message.initRelease();
      release.setId(anId(exports_));
      release.setReferenceCount(1);
      break;
    }
    case 2: {
      auto resolve = message.initResolve();
      resolve.setPromiseId(smallId());
      if (bytes_.ConsumeBool()) {
        resolve.initException().setReason(text("reason"));
      } else {
        resolve.initCap().setReceiverHosted(smallId());
      }
      break;
    }
    case 3: {
      auto disembargo = message.initDisembargo();
      disembargo.initTarget().setImportedCap(anId(exports_));
      disembargo.initContext().setSenderLoopback(smallId());
      break;
    }
    case 4: {
      auto disembargo = message.initDisembargo();
      disembargo.initTarget().initPromisedAnswer().setQuestionId(smallId());
      disembargo.initContext().setReceiverLoopback(smallId());
      break;
    }
    case 5:
      call(message.initUnimplemented());
      break;
    default:
      message.initAbort().setReason(text("reason"));
  }
}

void Peer::fillPayload(capnp::rpc::Payload::Builder payload, capnp::StructSchema shape) {
  capnp::BuilderCapabilityTable capabilities;
  fill(capabilities.imbue(payload.getContent()).initAs<capnp::DynamicStruct>(shape), 0);
  const auto count = static_cast<unsigned>(capabilities.getTable().size());
  for (auto entry : payload.initCapTable(count)) {
    const auto kind = bytes_.ConsumeIntegralInRange(0, 5);
    switch (plan_.handsBack || kind < 2 ? kind : 5) {
      case 0:
        entry.setNone();
        break;
      case 1:
        entry.setSenderPromise(smallId());
        break;
      case 2:
        entry.setReceiverHosted(anId(exports_));
        break;
      case 3:
        entry.initReceiverAnswer().setQuestionId(smallId());
        break;
      default:
        entry.setSenderHosted(smallId());
        entry.setAttachedFd(0);
    }
  }
}

void Peer::fill(capnp::DynamicStruct::Builder target, int depth) {
  if (depth > kDeepest) return;
  for (const auto field : target.getSchema().getFields()) {
    if (bytes_.ConsumeIntegralInRange(0, 3) != 0) fillField(target, field, depth);
  }
}

void Peer::fillField(capnp::DynamicStruct::Builder target, capnp::StructSchema::Field field, int depth) {
  using Type = capnp::schema::Type;
  const auto type = field.getType();
  const std::string_view name = field.getProto().getName().cStr();
  switch (type.which()) {
    case Type::BOOL:
      target.set(field, bytes_.ConsumeBool());
      break;
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32:
    case Type::UINT64:
    case Type::INT64: {
      const unsigned bits = type.isUInt8() ? 8 : type.isUInt16() ? 16 : type.isUInt32() ? 32 : 63;
      target.set(field, number(name) & ((std::uint64_t{1} << bits) - 1));
      break;
    }
    case Type::ENUM:
      target.set(field, capnp::DynamicEnum(type.asEnum(), static_cast<std::uint16_t>(number(name))));
      break;
    case Type::TEXT: {
      const auto value = text(name);
      auto place = target.init(field, static_cast<unsigned>(value.size())).as<capnp::Text>();
      std::copy(value.begin(), value.end(), place.begin());
      break;
    }
    case Type::DATA: {
      const auto value = text(name);
      target.set(field, capnp::Data::Reader(reinterpret_cast<const kj::byte*>(value.data()), value.size()));
      break;
    }
    case Type::STRUCT:
      fill(target.init(field).as<capnp::DynamicStruct>(), depth + 1);
      break;
    case Type::LIST: {
      auto list = target.init(field, bytes_.ConsumeIntegralInRange(0U, kMostItems)).as<capnp::DynamicList>();
      for (unsigned each = 0; each < list.size(); ++each) {
        if (list.getSchema().whichElementType() == Type::TEXT)
          list.set(each, capnp::Text::Reader(text(name).c_str()));
        if (list.getSchema().whichElementType() == Type::STRUCT)
          fill(list[each].as<capnp::DynamicStruct>(), depth + 1);
      }
      break;
    }
    case Type::INTERFACE: {
      capnp::Capability::Client stub(KJ_EXCEPTION(FAILED, "never called here"));
      target.set(field, stub.castAs<capnp::DynamicCapability>(type.asInterface()));
      break;
    }
    default:
      break;
  }
}

std::string Peer::text(std::string_view field) {
  switch (bytes_.ConsumeIntegralInRange(0, 15)) {
    case 14:
      return bytes_.ConsumeRandomLengthString(64);
    case 15:
      return std::string(bytes_.ConsumeIntegralInRange<std::size_t>(0, 70'000), 'a');
    default: {
      const auto found = plan_.named.find(field);
      const auto& values = found == plan_.named.end() ? plan_.texts : found->second;
      if (values.empty()) return bytes_.ConsumeRandomLengthString(16);
      return values[bytes_.ConsumeIntegralInRange<std::size_t>(0, values.size() - 1)];
    }
  }
}

std::uint64_t Peer::number(std::string_view field) {
  const auto found = plan_.numbers.find(field);
  switch (bytes_.ConsumeIntegralInRange(0, 7)) {
    case 7:
      return bytes_.ConsumeIntegral<std::uint64_t>();
    case 6:
      return bytes_.ConsumeIntegralInRange<std::uint64_t>(0, 9);
    default:
      if (found == plan_.numbers.end()) return bytes_.ConsumeIntegralInRange<std::uint64_t>(0, 99);
      return found->second[bytes_.ConsumeIntegralInRange<std::size_t>(0, found->second.size() - 1)];
  }
}

std::uint32_t Peer::anId(const std::vector<std::uint32_t>& known) {
  if (known.empty() || bytes_.ConsumeIntegralInRange(0, 15) == 15) return smallId();
  return known[bytes_.ConsumeIntegralInRange<std::size_t>(0, known.size() - 1)];
}

bool Peer::send(kj::ArrayPtr<const kj::byte> raw) {
  rpc::OwnFd beside;
  if (bytes_.ConsumeIntegralInRange(0, 3) == 0) beside = plan_.descriptor ? plan_.descriptor() : pipeEnd();
  for (int tries = 0; raw.size() > 0 && tries < 64; ++tries) {
    iovec part{const_cast<kj::byte*>(raw.begin()), raw.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (beside != nullptr) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int number = beside.get();
      std::memcpy(CMSG_DATA(header), &number, sizeof number);
    }
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return open_ = false;
    if (sent > 0) {
      raw = raw.slice(static_cast<std::size_t>(sent), raw.size());
      beside = nullptr;
    }
    if (raw.size() > 0) listen();
  }
  return true;
}

// Lets the other side work, and takes in what it says.
void Peer::listen() {
  char chunk[65536];
  ssize_t got = 1;
  while (got > 0) {
    loop().waitScope().poll();
    got = recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (got > 0) heard_.append(chunk, static_cast<std::size_t>(got));
  }
  if (got == 0) open_ = false;
  hear();
}

void Peer::hear() {
  while (heard_.size() >= sizeof(capnp::word)) {
    auto words = kj::heapArray<capnp::word>(heard_.size() / sizeof(capnp::word));
    std::memcpy(words.begin(), heard_.data(), words.asBytes().size());
    const auto size = capnp::expectedSizeInWordsFromPrefix(words);
    if (size > words.size()) return;
    capnp::FlatArrayMessageReader message(words.slice(0, size));
    note(message.getRoot<Message>());
    heard_.erase(0, size * sizeof(capnp::word));
  }
}

void Peer::note(Message::Reader message) {
  switch (message.which()) {
    case Message::BOOTSTRAP:
      questions_.push_back(message.getBootstrap().getQuestionId());
      break;
    case Message::CALL:
      questions_.push_back(message.getCall().getQuestionId());
      noteCapabilities(message.getCall().getParams());
      break;
    case Message::RETURN:
      if (message.getReturn().isResults()) noteCapabilities(message.getReturn().getResults());
      break;
    default:
      break;
  }
}

void Peer::noteCapabilities(capnp::rpc::Payload::Reader payload) {
  for (const auto each : payload.getCapTable()) {
    if (each.isSenderHosted()) exports_.push_back(each.getSenderHosted());
    if (each.isSenderPromise()) exports_.push_back(each.getSenderPromise());
  }
}

void run(Peer::Plan& plan, const std::uint8_t* data, std::size_t size, rpc::ConnectionOptions options,
         kj::FunctionParam<capnp::Capability::Client()> bootstrap) {
  loop();
  const rpc::QuietKj quiet;
  FuzzedDataProvider bytes(data, size);
  auto pair = rpc::socketPair();
  {
    rpc::Connection connection(loop(), kj::mv(pair.first), options, bootstrap());
    Peer peer(plan, bytes, kj::mv(pair.second));
    peer.begin();
    peer.speak();
  }
  loop().waitScope().poll();
}

}  // namespace factionos::fuzz
