#pragma once

#include "broker/audit/line.h"
#include "broker/audit/verify.h"
#include "broker/identity/proof.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

void fillRecord(const audit::Line& line, schema::AuditRecord::Builder record);
void fillVerdict(const audit::Verdict& verdict, const identity::PublicKey& firstKey,
                 schema::AuditVerdict::Builder out);

}  // namespace factionos::broker
