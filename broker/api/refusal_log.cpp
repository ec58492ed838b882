#include "broker/api/refusal_log.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "broker/actions/ledger.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {
namespace {

using audit::Code;
using audit::Label;

// Our own text for it, so that none of the front's gets into the audit.
std::optional<Label> blockedField(std::string_view dotted) {
  const auto last = dotted.substr(dotted.rfind('.') + 1);
  for (const auto field : *schema::BLOCKED_FIELDS) {
    if (std::string_view(field.begin(), field.size()) == last) return Label::parse(last);
  }
  return std::nullopt;
}

// "terminalRun" is recorded as "terminal-run".
std::optional<Code> operationOf(std::string_view method) {
  std::string text;
  for (const char c : method) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) != 0) text += '-';
    text += static_cast<char>(std::tolower(byte));
  }
  return Code::parse(text);
}

}  // namespace

class RefusalLog::Server final : public schema::Refusals::Server {
 public:
  Server(RefusalLog& log, std::string principal) : log_(log), principal_(std::move(principal)) {}

 protected:
  kj::Promise<void> blockedField(BlockedFieldContext context) override {
    const auto params = context.getParams();
    return log_.record(principal_, params.getMethod(), params.getField());
  }

 private:
  RefusalLog& log_;
  std::string principal_;
};

schema::Refusals::Client RefusalLog::of(const Caller& caller) {
  return kj::heap<Server>(*this, caller.id());
}

bool RefusalLog::take(const std::string& principal) {
  const auto now = core_.timer.now();
  auto& share = shares_.try_emplace(principal, Share{.left = kBurst, .at = now}).first->second;
  const auto passed = static_cast<double>((now - share.at) / kj::MILLISECONDS);
  share.left = std::min(kBurst, share.left + passed / static_cast<double>(kRefill / kj::MILLISECONDS));
  share.at = now;
  if (share.left < 1) return false;
  share.left -= 1;
  return true;
}

kj::Promise<void> RefusalLog::record(const std::string& principal, std::uint16_t method,
                                     kj::StringPtr field) {
  const auto* row = table_.find(method);
  const auto target = blockedField({field.begin(), field.size()});
  const auto operation = row == nullptr ? std::nullopt : operationOf(row->name);
  if (!target || !operation || !take(principal)) return kj::READY_NOW;
  const audit::Record record{.family = Code::of("request"),
                             .operation = *operation,
                             .requester = Label::of(principal),
                             .decision = Code::of("deny"),
                             .idempotency = Code::of("none"),
                             .result = Code::of("denied"),
                             .target = target,
                             .failure = Code::of("blocked_field")};
  return commit<bool>(core_, Step::kDeny,
                      [record](state::Transaction& transaction) {
                        transaction.audit(record);
                        return true;
                      })
      .ignoreResult();
}

}  // namespace factionos::broker
