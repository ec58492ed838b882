#include "workers/front/frame_codec.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include <wslay/wslay.h>

namespace factionos::front {

struct FrameCodec::Impl {
  wslay_event_context_ptr context = nullptr;
  std::string_view input;
  std::string output;
  std::vector<Message> messages;
  unsigned frames = 0;
  bool failed = false;
  bool threw = false;

  // wslay is C: nothing may be thrown through it.
  template <typename Action>
  void guarded(Action action) noexcept {
    try {
      action();
    } catch (const std::exception&) {
      threw = true;
    }
  }

  static Impl& of(void* user) { return *static_cast<Impl*>(user); }

  static ssize_t onRecv(wslay_event_context_ptr context, std::uint8_t* buffer, std::size_t length, int,
                        void* user) {
    Impl& self = of(user);
    if (self.input.empty()) {
      wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    const std::size_t count = std::min(length, self.input.size());
    std::memcpy(buffer, self.input.data(), count);
    self.input.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }

  static ssize_t onSend(wslay_event_context_ptr, const std::uint8_t* data, std::size_t length, int,
                        void* user) {
    Impl& self = of(user);
    self.guarded([&] { self.output.append(reinterpret_cast<const char*>(data), length); });
    return static_cast<ssize_t>(length);
  }

  static void onFrame(wslay_event_context_ptr, const wslay_event_on_frame_recv_start_arg*, void* user) {
    ++of(user).frames;
  }

  static void onMessage(wslay_event_context_ptr, const wslay_event_on_msg_recv_arg* arg, void* user) {
    if (wslay_is_ctrl_frame(arg->opcode)) return;
    Impl& self = of(user);
    self.guarded([&] {
      const auto kind = arg->opcode == WSLAY_TEXT_FRAME ? Message::Kind::kText : Message::Kind::kOther;
      self.messages.push_back({kind, std::string(reinterpret_cast<const char*>(arg->msg), arg->msg_length)});
    });
  }
};

FrameCodec::FrameCodec() : impl_(std::make_unique<Impl>()) {
  wslay_event_callbacks callbacks{};
  callbacks.recv_callback = &Impl::onRecv;
  callbacks.send_callback = &Impl::onSend;
  callbacks.on_frame_recv_start_callback = &Impl::onFrame;
  callbacks.on_msg_recv_callback = &Impl::onMessage;
  if (wslay_event_context_server_init(&impl_->context, &callbacks, impl_.get()) != 0) throw std::bad_alloc();
  wslay_event_config_set_max_recv_msg_length(impl_->context, kMaxMessageBytes);
}

FrameCodec::~FrameCodec() {
  wslay_event_context_free(impl_->context);
}

void FrameCodec::receive(std::string_view bytes) {
  impl_->input = bytes;
  // An error that has a close code has queued its frame already; any other leaves nothing to say.
  if (wslay_event_recv(impl_->context) != 0) impl_->failed = true;
  impl_->input = {};
}

std::vector<FrameCodec::Message> FrameCodec::takeMessages() {
  return std::exchange(impl_->messages, {});
}

unsigned FrameCodec::frames() const {
  return impl_->frames;
}

void FrameCodec::startPeriod() {
  impl_->frames = 0;
}

void FrameCodec::sendText(std::string_view text) {
  const wslay_event_msg message{WSLAY_TEXT_FRAME, reinterpret_cast<const std::uint8_t*>(text.data()),
                                text.size()};
  if (wslay_event_queue_msg(impl_->context, &message) == WSLAY_ERR_NOMEM) throw std::bad_alloc();
}

void FrameCodec::sendPing() {
  const wslay_event_msg message{WSLAY_PING, nullptr, 0};
  if (wslay_event_queue_msg(impl_->context, &message) == WSLAY_ERR_NOMEM) throw std::bad_alloc();
}

void FrameCodec::close(CloseCode code, std::string_view reason) {
  const auto* text = reinterpret_cast<const std::uint8_t*>(reason.data());
  if (wslay_event_queue_close(impl_->context, static_cast<std::uint16_t>(code), text, reason.size()) ==
      WSLAY_ERR_NOMEM)
    throw std::bad_alloc();
}

std::string FrameCodec::takeOutput() {
  if (wslay_event_want_write(impl_->context) && wslay_event_send(impl_->context) != 0) impl_->failed = true;
  if (impl_->threw) throw std::bad_alloc();
  return std::exchange(impl_->output, {});
}

bool FrameCodec::over() const {
  const bool canRead = !impl_->failed && wslay_event_want_read(impl_->context);
  return !canRead && !wslay_event_want_write(impl_->context);
}

bool FrameCodec::closeSent() const {
  return wslay_event_get_close_sent(impl_->context) != 0;
}

}  // namespace factionos::front
