#include "tests/hostile/wire.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include "workers/common/start.h"

namespace factionos::hostile {
namespace {

using capnp::rpc::Message;

// Far above what this process's own library has handed out.
constexpr std::uint32_t kNever = 4'000'000;

bool writable() {
  pollfd line{worker::kLine, POLLOUT, 0};
  return poll(&line, 1, -1) == 1 && (line.revents & (POLLERR | POLLHUP)) == 0;
}

template <std::size_t N>
void sendWords(const std::array<std::uint32_t, N>& words) {
  sendRaw(kj::arrayPtr(words.data(), words.size()).asBytes());
}

// A root pointer to a struct that is not there, in a message of one word.
void danglingPointer() {
  sendWords(std::array<std::uint32_t, 4>{0, 1, 0x0000fffc, 0x00010001});
}

// Two far pointers that lead to each other.
void pointerLoop() {
  sendWords(std::array<std::uint32_t, 8>{1, 1, 1, 0, 0x00000002, 1, 0x00000002, 0});
}

void questionInUse() {
  for (int times = 0; times < 2; ++times)
    sendMessage([](Message::Builder message) { message.initBootstrap().setQuestionId(kNever); });
}

void questionsWithoutEnd() {
  for (std::uint32_t question = 0; question < 20'000; ++question) {
    if (!sendMessage([question](Message::Builder message) {
          message.initBootstrap().setQuestionId(kNever + question);
        }))
      return;
    drainLine();
  }
}

// Finished, but what each answer brought is kept.
void capabilitiesWithoutEnd() {
  for (std::uint32_t question = 0; question < 20'000; ++question) {
    const bool said = sendMessage([question](Message::Builder message) {
                        message.initBootstrap().setQuestionId(kNever + question);
                      }) &&
                      sendMessage([question](Message::Builder message) {
                        auto finish = message.initFinish();
                        finish.setQuestionId(kNever + question);
                        finish.setReleaseResultCaps(false);
                      });
    if (!said) return;
    drainLine();
  }
}

// Each call goes to the answer of the one before it.
void pipelineWithoutEnd() {
  sendMessage([](Message::Builder message) { message.initBootstrap().setQuestionId(kNever); });
  for (std::uint32_t depth = 1; depth < 20'000; ++depth) {
    if (!sendMessage([depth](Message::Builder message) {
          auto call = message.initCall();
          call.setQuestionId(kNever + depth);
          call.initTarget().initPromisedAnswer().setQuestionId(kNever + depth - 1);
          call.setInterfaceId(1);
        }))
      return;
    drainLine();
  }
}

void nested() {
  sendMessage([](Message::Builder message) {
    for (int depth = 0; depth < 200; ++depth) message = message.initUnimplemented();
    message.initBootstrap().setQuestionId(1);
  });
}

constexpr std::array kBreaches = {
    Breach{"noise", [] { sendRaw(kj::arrayPtr(std::vector<kj::byte>(64, 0xff).data(), 64)); }},
    Breach{"announced_size",
           [] {
             sendWords(std::array<std::uint32_t, 2>{0, 0x7fffffff});
           }},
    Breach{"announced_segments",
           [] {
             sendWords(std::array<std::uint32_t, 2>{0x0fffffff, 1});
           }},
    Breach{"empty_message",
           [] {
             sendWords(std::array<std::uint32_t, 4>{0, 1, 0xffffffff, 0xffffffff});
           }},
    Breach{"dangling_pointer", danglingPointer},
    Breach{"pointer_loop", pointerLoop},
    Breach{"nested_without_end", nested},
    Breach{"answer_never_asked",
           [] { sendMessage([](Message::Builder m) { m.initReturn().setAnswerId(kNever); }); }},
    Breach{"capability_of_others", [] { sendCall(kNever, 4711, 1, 0, [](auto&&) {}); }},
    Breach{"answer_of_others",
           [] {
             sendMessage([](Message::Builder m) {
               auto call = m.initCall();
               call.setQuestionId(kNever);
               call.initTarget().initPromisedAnswer().setQuestionId(kNever + 1);
             });
           }},
    Breach{"question_in_use", questionInUse},
    Breach{"questions_without_end", questionsWithoutEnd},
    Breach{"capabilities_without_end", capabilitiesWithoutEnd},
    Breach{"pipeline_without_end", pipelineWithoutEnd},
    Breach{"release_of_others",
           [] {
             sendMessage([](Message::Builder m) {
               auto release = m.initRelease();
               release.setId(4711);
               release.setReferenceCount(1);
             });
           }},
    Breach{"finish_never_asked", [] { sendFinish(kNever + 7); }},
    Breach{"exception_of_no_type",
           [] {
             sendMessage([](Message::Builder m) {
               auto exception = m.initAbort();
               exception.setReason("x");
               exception.setType(static_cast<capnp::rpc::Exception::Type>(60'000));
             });
           }},
    Breach{"embargo_of_others",
           [] {
             sendMessage([](Message::Builder m) {
               auto disembargo = m.initDisembargo();
               disembargo.initTarget().setImportedCap(4711);
               disembargo.initContext().setReceiverLoopback(4711);
             });
           }},
};

}  // namespace

bool sendRaw(kj::ArrayPtr<const kj::byte> bytes, kj::ArrayPtr<const int> descriptors) {
  std::vector<char> control(CMSG_SPACE(sizeof(int) * std::max<std::size_t>(descriptors.size(), 1)));
  while (bytes.size() > 0) {
    iovec part{const_cast<kj::byte*>(bytes.begin()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptors.size() > 0) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
      std::memcpy(CMSG_DATA(header), descriptors.begin(), sizeof(int) * descriptors.size());
    }
    const ssize_t sent = sendmsg(worker::kLine, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.slice(static_cast<std::size_t>(sent), bytes.size());
      descriptors = nullptr;
    } else if (errno != EINTR && ((errno != EAGAIN && errno != ETOOMANYREFS) || !writable())) {
      return false;
    }
  }
  return true;
}

bool sendMessage(kj::FunctionParam<void(Message::Builder)> fill, kj::ArrayPtr<const int> descriptors) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Message>());
  const auto words = capnp::messageToFlatArray(message);
  return sendRaw(words.asBytes(), descriptors);
}

bool sendCall(std::uint32_t question, std::uint32_t target, std::uint64_t interface, std::uint16_t method,
              kj::FunctionParam<void(capnp::AnyPointer::Builder)> fill) {
  return sendMessage([&](Message::Builder message) {
    auto call = message.initCall();
    call.setQuestionId(question);
    call.initTarget().setImportedCap(target);
    call.setInterfaceId(interface);
    call.setMethodId(method);
    fill(call.initParams().getContent());
  });
}

bool sendFinish(std::uint32_t question) {
  return sendMessage([question](Message::Builder message) { message.initFinish().setQuestionId(question); });
}

void drainLine() {
  std::array<char, 65536> chunk;
  while (recv(worker::kLine, chunk.data(), chunk.size(), MSG_DONTWAIT) > 0) {
  }
}

void drainUntilQuiet() {
  constexpr int kQuietMs = 500;
  pollfd line{worker::kLine, POLLIN, 0};
  while (poll(&line, 1, kQuietMs) == 1 && (line.revents & POLLHUP) == 0) drainLine();
}

std::span<const Breach> wireBreaches() {
  return kBreaches;
}

const Breach* findBreach(std::string_view name) {
  const auto found =
      std::ranges::find_if(kBreaches, [name](const Breach& each) { return name == each.name; });
  return found == kBreaches.end() ? nullptr : &*found;
}

}  // namespace factionos::hostile
