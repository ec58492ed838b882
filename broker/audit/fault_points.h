#pragma once

namespace factionos::audit {

// The places around each durable write of state and audit, in the order in which one commit passes them. A
// crash at any of them must leave files that the next start understands; tests stop or fail the process
// there.
enum class FaultPoint {
  kBeforeBegin,        // state: nothing written yet
  kAfterMutations,     // state: rows changed inside the open transaction
  kBeforeAuditWrite,   // audit: before the batch's bytes
  kAfterAuditWrite,    // audit: bytes written, not synced
  kAfterAuditSync,     // audit: bytes durable, head still behind
  kAfterHeadWrite,     // audit: head written, not synced
  kAfterHeadSync,      // audit: batch complete
  kBeforeCommit,       // state: audit durable, rows not
  kAfterCommit,        // state: rows durable, nobody told yet
  kAfterNextKeyWrite,  // audit roll: the next secret lies beside the current one
  kAfterSealSync,      // audit roll: the seal is durable, the old secret still there
  kAfterKeyReplace,    // audit roll: the old secret is gone
};

// Tests derive from it. `reach` may throw (the write then fails there) or end the process. Called on the
// thread that writes. In production no object exists: components take a pointer that may be null.
class FaultPoints {
 public:
  virtual ~FaultPoints() = default;
  virtual void reach(FaultPoint point) = 0;
};

inline void reach(FaultPoints* points, FaultPoint point) {
  if (points != nullptr) points->reach(point);
}

}  // namespace factionos::audit
