#include "broker/executors/container_target.h"

namespace factionos::broker {
namespace {

using schema::NetworkProfile;
using schema::ProblemCode;

std::uint64_t millisOf(std::chrono::seconds time) {
  return static_cast<std::uint64_t>(std::chrono::milliseconds(time).count());
}

}  // namespace

Outcome<ContainerTarget> containerTarget(const home::Config& config, std::string_view workspace,
                                         std::string_view templateId, NetworkProfile network,
                                         std::uint32_t timeoutMs) {
  ContainerTarget target{.made = config.findTemplate(templateId),
                         .workspace = config.findWorkspace(workspace),
                         .network = network == NetworkProfile::UNSPECIFIED ? NetworkProfile::NONE : network,
                         .timeoutMs = timeoutMs};
  if (target.workspace == nullptr)
    return Refused{.code = ProblemCode::NOT_FOUND,
                   .detail = "No workspace of this name is known.",
                   .field = "workspace"};
  if (target.made == nullptr)
    return Refused{.code = ProblemCode::NOT_FOUND,
                   .detail = "No template of this id is in config.toml.",
                   .field = "template"};
  if (target.network != NetworkProfile::NONE && target.network != NetworkProfile::EGRESS)
    return Refused{.code = ProblemCode::INVALID_REQUEST,
                   .detail = "A container's network profile is none or egress.",
                   .field = "networkProfile"};
  if (target.network == NetworkProfile::EGRESS && !target.made->mayReachOut)
    return Refused{.code = ProblemCode::POLICY_BLOCKED,
                   .detail = "The template does not have the network profile egress.",
                   .field = "networkProfile"};
  if (timeoutMs > millisOf(target.made->maxTimeout))
    return Refused{.code = ProblemCode::INVALID_REQUEST,
                   .detail = "Above the longest timeout that the template allows.",
                   .field = "timeoutMs"};
  if (timeoutMs == 0) target.timeoutMs = static_cast<std::uint32_t>(millisOf(target.made->timeout));
  return target;
}

}  // namespace factionos::broker
