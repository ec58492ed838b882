#pragma once

#include "broker/actions/outgoing.h"
#include "broker/audit/line.h"
#include "broker/audit/verify.h"
#include "broker/identity/proof.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// Both for kApiResponse and kCli.
template <redaction::Boundary B>
void fillRecord(const audit::Line& line, actions::Outgoing<B, schema::AuditRecord> record);
template <redaction::Boundary B>
void fillVerdict(const audit::Verdict& verdict, const identity::PublicKey& firstKey,
                 actions::Outgoing<B, schema::AuditVerdict> out);

}  // namespace factionos::broker
