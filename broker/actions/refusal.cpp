#include "broker/actions/refusal.h"

#include "broker/audit/errors.h"
#include "broker/state/errors.h"

namespace factionos::actions {

namespace {
capnp::Text::Reader asText(std::string_view text) {
  return kj::StringPtr(text.data(), text.size());
}
}  // namespace

void fill(const Refused& refused, schema::Problem::Builder problem) {
  problem.setCode(refused.code);
  if (!refused.detail.empty()) problem.setDetail(asText(refused.detail));
  if (!refused.field.empty()) problem.setField(asText(refused.field));
  problem.setCurrentRevision(refused.currentRevision);
  problem.setRetryAfterMs(refused.retryAfterMs);
  problem.setState(refused.state);
}

Refused refusedBy(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const Refusal& refusal) {
    return refusal.refused();
  } catch (const audit::AuditUnavailable&) {
    return {.code = schema::ProblemCode::AUDIT_UNAVAILABLE, .retryAfterMs = 1000};
  } catch (const state::StateUnavailable&) {
    return {.code = schema::ProblemCode::STATE_UNAVAILABLE, .retryAfterMs = 1000};
  } catch (...) {
    return {};
  }
}

}  // namespace factionos::actions
