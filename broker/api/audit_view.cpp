#include "broker/api/audit_view.h"

#include "broker/actions/view.h"

namespace factionos::broker {
namespace {

using actions::asText;

void fillBody(const audit::Record& body, schema::AuditRecord::Builder record) {
  record.setKind("record");
  if (!body.actionId.empty()) record.setActionId(asText(body.actionId));
  record.setRevision(body.revision);
  record.setFamily(asText(body.family.text()));
  record.setOperation(asText(body.operation.text()));
  record.setRequester(asText(body.requester.text()));
  if (body.approver) record.setApprover(asText(body.approver->text()));
  record.setDecision(asText(body.decision.text()));
  record.setIdempotency(asText(body.idempotency.text()));
  record.setResult(asText(body.result.text()));
  if (body.target) record.setTarget(asText(body.target->text()));
  if (body.failure) record.setFailureCode(asText(body.failure->text()));
  record.setRedactionPolicy(asText(std::to_string(body.redactionVersion)));
  record.setBytesIn(body.counts.bytesIn);
  record.setBytesOut(body.counts.bytesOut);
  record.setDenials(body.counts.denials);
}

const char* kindOf(const audit::Line& line) {
  constexpr const char* kKinds[] = {"genesis", "seal", "gap", "void", "record"};
  return kKinds[line.body.index()];
}

}  // namespace

void fillRecord(const audit::Line& line, schema::AuditRecord::Builder record) {
  record.setSequence(line.sequence);
  record.setTime(actions::millis(line.time));
  record.setKind(kindOf(line));
  if (const auto* body = std::get_if<audit::Record>(&line.body)) fillBody(*body, record);
  record.setHash(asText(audit::toHex(audit::hash(audit::asBytes(audit::encode(line))).bytes)));
}

void fillVerdict(const audit::Verdict& verdict, const identity::PublicKey& firstKey,
                 schema::AuditVerdict::Builder out) {
  out.setIntact(verdict.intact());
  out.setRecords(verdict.records);
  if (!verdict.intact()) out.setBrokenAt(verdict.sequence);
  out.setCause(asText(std::string(audit::nameOf(verdict.breach))));
  out.setFirstPublicKey(asText(audit::toHex(firstKey)));
}

}  // namespace factionos::broker
