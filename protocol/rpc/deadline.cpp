#include "protocol/rpc/deadline.h"

#include <kj/string.h>

namespace factionos::rpc {
namespace {

constexpr kj::StringPtr kDescription = "the deadline has passed"_kj;

}  // namespace

kj::Exception deadlineExceeded() {
  return kj::Exception(kj::Exception::Type::OVERLOADED, __FILE__, __LINE__, kj::str(kDescription));
}

bool isDeadlineExceeded(const kj::Exception& exception) {
  return exception.getType() == kj::Exception::Type::OVERLOADED && exception.getDescription() == kDescription;
}

}  // namespace factionos::rpc
