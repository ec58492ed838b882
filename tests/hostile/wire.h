// Bytes on the line to the broker, past every library: what breaks the RPC protocol, and floods that keep it.
#pragma once

#include <span>
#include <string_view>

#include <capnp/rpc.capnp.h>
#include <kj/common.h>
#include <kj/function.h>

namespace factionos::hostile {

// Blocks until all is taken; false once the broker has closed the line.
bool sendRaw(kj::ArrayPtr<const kj::byte> bytes, kj::ArrayPtr<const int> descriptors = nullptr);
bool sendMessage(kj::FunctionParam<void(capnp::rpc::Message::Builder)> fill,
                 kj::ArrayPtr<const int> descriptors = nullptr);
// A call with parameters that `fill` makes; `target` is an export of the broker.
bool sendCall(std::uint32_t question, std::uint32_t target, std::uint64_t interface, std::uint16_t method,
              kj::FunctionParam<void(capnp::AnyPointer::Builder)> fill);
bool sendFinish(std::uint32_t question);
// Reads and drops what the broker has sent.
void drainLine();
// … and waits until it says no more: what is left would look to this process's own library like answers never
// asked for.
void drainUntilQuiet();

// What must end the connection at once.
struct Breach {
  const char* name;
  void (*commit)();
};
std::span<const Breach> wireBreaches();
const Breach* findBreach(std::string_view name);

}  // namespace factionos::hostile
