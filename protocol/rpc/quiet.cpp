#include "protocol/rpc/quiet.h"

#include <kj/string.h>

namespace factionos::rpc {

void QuietKj::logMessage(kj::LogSeverity severity, const char*, int, int, kj::String&&) {
  if (severity >= kj::LogSeverity::WARNING) ++dropped_;
}

}  // namespace factionos::rpc
