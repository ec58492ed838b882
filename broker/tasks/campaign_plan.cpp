#include "broker/tasks/campaign_plan.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "protocol/text.h"

namespace factionos::broker {
namespace {

using schema::ProblemCode;

Refused invalid(redaction::Sentence detail, redaction::Literal field,
                ProblemCode code = ProblemCode::INVALID_REQUEST) {
  return {.code = code, .detail = detail, .field = field};
}

// Whether the tasks can be done one after the other: each round takes those whose needs are all done.
bool canEnd(const CampaignPlan& plan) {
  std::vector<bool> done(plan.needs.size());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (done[i] || !std::ranges::all_of(plan.needs[i], [&done](std::size_t each) { return done[each]; }))
        continue;
      done[i] = more = true;
    }
  }
  return std::ranges::all_of(done, [](bool each) { return each; });
}

}  // namespace

Outcome<CampaignPlan> campaignPlan(capnp::List<schema::CampaignTask>::Reader tasks) {
  if (tasks.size() == 0) return invalid("A campaign has at least one task.", "tasks");
  std::map<std::string_view, std::size_t> places;
  for (unsigned i = 0; i < tasks.size(); ++i) {
    const auto name = view(tasks[i].getName());
    if (!audit::Label::parse(name))
      return invalid("A task's name is no label.", "tasks[].name", ProblemCode::INVALID_LABEL);
    if (!places.emplace(name, i).second) return invalid("Two tasks have the same name.", "tasks[].name");
  }
  CampaignPlan plan{.needs = std::vector<std::vector<std::size_t>>(tasks.size())};
  for (unsigned i = 0; i < tasks.size(); ++i) {
    auto& needs = plan.needs[i];
    for (const auto name : tasks[i].getAfter()) {
      const auto found = places.find(view(name));
      if (found == places.end()) return invalid("No task of the campaign has this name.", "tasks[].after");
      if (std::ranges::find(needs, found->second) == needs.end()) needs.push_back(found->second);
    }
  }
  if (!canEnd(plan))
    return invalid("Tasks of the campaign wait for each other in a circle.", "tasks[].after");
  return plan;
}

}  // namespace factionos::broker
