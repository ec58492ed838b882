#pragma once

#include <cstddef>
#include <vector>

#include "broker/core/core.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// Which of a campaign's tasks needs which, by their places in the request.
struct CampaignPlan {
  std::vector<std::vector<std::size_t>> needs;
};

// Refused: names that are no labels, come twice or are not there, and tasks that would wait for themselves.
Outcome<CampaignPlan> campaignPlan(capnp::List<schema::CampaignTask>::Reader tasks);

}  // namespace factionos::broker
