// What the kernel's own records say that a command was denied, counted as the gofer's are.
#pragma once

#include <cstdint>
#include <vector>

#include "workers/common/audited_denial.h"
#include "workers/session/denial_table.h"
#include "workers/session/places.h"

namespace factionos::session {

class AuditedDenials {
 public:
  // `apiPort`: that Landlock keeps from the command; 0: none. What is told of lost records, and kinds beyond
  // kDenialRows, count as "further".
  void add(const worker::AuditedDenial& denial, const Surroundings& around, std::uint16_t apiPort);

  // With what the gofer counted. The kernel tells of what the gofer heard, too: where both know the same
  // operation and place by Landlock it is one row, the gofer's, with the larger count, the earlier beginning
  // and the later end.
  [[nodiscard]] std::vector<DenialCount> with(std::vector<DenialCount> heard) const;

 private:
  std::vector<DenialCount> rows_;
};

}  // namespace factionos::session
