#include "broker/actions/refusal.h"

#include "broker/audit/errors.h"
#include "broker/state/errors.h"

namespace factionos::actions {

template <redaction::Boundary B>
void fill(const Refused& refused, Outgoing<B, schema::Problem> problem) {
  using P = schema::Problem::Builder;
  using R = redaction::Redactor<B>;
  problem.set(&P::setCode, refused.code);
  if (!refused.detail.empty()) problem.set(&P::setDetail, R::words(refused.detail));
  if (!refused.field.empty()) problem.set(&P::setField, R::words(refused.field));
  problem.set(&P::setCurrentRevision, refused.currentRevision);
  problem.set(&P::setRetryAfterMs, refused.retryAfterMs);
  problem.set(&P::setState, refused.state);
}
using redaction::Boundary;
template void fill(const Refused&, Outgoing<Boundary::kApiError, schema::Problem>);
template void fill(const Refused&, Outgoing<Boundary::kCli, schema::Problem>);
template void fill(const Refused&, Outgoing<Boundary::kStateAtRest, schema::Problem>);

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
