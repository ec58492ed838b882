#include "broker/api/audit_view.h"

#include <array>

#include "broker/actions/view.h"

namespace factionos::broker {
namespace {

using actions::Outgoing;
using redaction::Boundary;
using redaction::Literal;
using redaction::PublicBytes;
using redaction::Redactor;

template <Boundary B>
void fillBody(const audit::Record& body, Outgoing<B, schema::AuditRecord> record) {
  using A = schema::AuditRecord::Builder;
  using R = Redactor<B>;
  if (!body.actionId.empty()) record.set(&A::setActionId, R::label(actions::idLabel(body.actionId)));
  record.set(&A::setRevision, body.revision);
  record.set(&A::setFamily, R::code(body.family));
  record.set(&A::setOperation, R::code(body.operation));
  record.set(&A::setRequester, R::label(body.requester));
  if (body.approver) record.set(&A::setApprover, R::label(*body.approver));
  record.set(&A::setDecision, R::code(body.decision));
  record.set(&A::setIdempotency, R::code(body.idempotency));
  record.set(&A::setResult, R::code(body.result));
  if (body.target) record.set(&A::setTarget, R::label(*body.target));
  if (body.failure) record.set(&A::setFailureCode, R::code(*body.failure));
  record.set(&A::setRedactionPolicy, R::count(body.redactionVersion));
  record.set(&A::setBytesIn, body.counts.bytesIn);
  record.set(&A::setBytesOut, body.counts.bytesOut);
  record.set(&A::setDenials, body.counts.denials);
}

// By the line's alternative.
constexpr std::array<Literal, 5> kKinds{Literal("genesis"), Literal("seal"), Literal("gap"), Literal("void"),
                                        Literal("record")};

}  // namespace

template <Boundary B>
void fillRecord(const audit::Line& line, Outgoing<B, schema::AuditRecord> record) {
  using A = schema::AuditRecord::Builder;
  using R = Redactor<B>;
  record.set(&A::setSequence, line.sequence);
  record.set(&A::setTime, actions::millis(line.time));
  record.set(&A::setKind, R::words(kKinds.at(line.body.index())));
  if (const auto* body = std::get_if<audit::Record>(&line.body)) fillBody(*body, record);
  const auto hash = audit::hash(audit::asBytes(audit::encode(line)));
  record.set(&A::setHash, R::bytes(PublicBytes::hex(hash.bytes)));
}

template <Boundary B>
void fillVerdict(const audit::Verdict& verdict, const identity::PublicKey& firstKey,
                 Outgoing<B, schema::AuditVerdict> out) {
  using V = schema::AuditVerdict::Builder;
  using R = Redactor<B>;
  out.set(&V::setIntact, verdict.intact());
  out.set(&V::setRecords, verdict.records);
  if (!verdict.intact()) out.set(&V::setBrokenAt, verdict.sequence);
  out.set(&V::setCause, R::code(audit::Code::of(audit::nameOf(verdict.breach))));
  out.set(&V::setFirstPublicKey, R::bytes(PublicBytes::hex(firstKey)));
}

template void fillRecord(const audit::Line&, Outgoing<Boundary::kApiResponse, schema::AuditRecord>);
template void fillRecord(const audit::Line&, Outgoing<Boundary::kCli, schema::AuditRecord>);
template void fillVerdict(const audit::Verdict&, const identity::PublicKey&,
                          Outgoing<Boundary::kApiResponse, schema::AuditVerdict>);
template void fillVerdict(const audit::Verdict&, const identity::PublicKey&,
                          Outgoing<Boundary::kCli, schema::AuditVerdict>);

}  // namespace factionos::broker
