#include "protocol/rpc/given.h"

#include <algorithm>

namespace factionos::rpc {
namespace {

bool isOurs(capnp::rpc::CapDescriptor::Reader descriptor) {
  return descriptor.isSenderHosted() || descriptor.isSenderPromise();
}

}  // namespace

void GivenCapabilities::sent(capnp::rpc::Message::Reader message) {
  using Message = capnp::rpc::Message;
  switch (message.which()) {
    case Message::CALL:
      give(withCall_, message.getCall().getQuestionId(), message.getCall().getParams());
      break;
    case Message::RETURN:
      if (message.getReturn().isResults())
        give(withAnswer_, message.getReturn().getAnswerId(), message.getReturn().getResults());
      break;
    case Message::RESOLVE:
      if (message.getResolve().isCap() && isOurs(message.getResolve().getCap())) ++count_;
      break;
    default:
      break;
  }
}

void GivenCapabilities::received(capnp::rpc::Message::Reader message) {
  using Message = capnp::rpc::Message;
  switch (message.which()) {
    case Message::FINISH: {
      const auto finish = message.getFinish();
      const auto given = forget(withAnswer_, finish.getQuestionId());
      if (finish.getReleaseResultCaps()) takeBack(given);
      break;
    }
    case Message::RETURN: {
      const auto answer = message.getReturn();
      const auto given = forget(withCall_, answer.getAnswerId());
      if (answer.getReleaseParamCaps()) takeBack(given);
      break;
    }
    case Message::RELEASE:
      takeBack(message.getRelease().getReferenceCount());
      break;
    default:
      break;
  }
}

void GivenCapabilities::give(ByQuestion& with, uint32_t question, capnp::rpc::Payload::Reader payload) {
  const auto table = payload.getCapTable();
  const auto given = static_cast<size_t>(std::count_if(table.begin(), table.end(), isOurs));
  if (given == 0) return;
  with[question] = given;
  count_ += given;
}

void GivenCapabilities::takeBack(size_t references) {
  count_ -= std::min(count_, references);
}

size_t GivenCapabilities::forget(ByQuestion& with, uint32_t question) {
  const auto found = with.find(question);
  if (found == with.end()) return 0;
  const auto given = found->second;
  with.erase(found);
  return given;
}

}  // namespace factionos::rpc
