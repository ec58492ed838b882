#include "broker/executors/container_owner.h"

#include <charconv>
#include <fstream>
#include <iterator>

#include <sodium.h>
#include <unistd.h>

#include "broker/state/ids.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using audit::asBytes;
using state::Purpose;

constexpr std::size_t kInstanceCharacters = 32;
constexpr int kStartTimeField = 22;  // of /proc/PID/stat, counted from 1

}  // namespace

OwnProcess OwnProcess::read() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The program's name, in parentheses, may hold anything.
  auto at = text.rfind(')');
  OwnProcess own{.pid = static_cast<std::uint32_t>(::getpid())};
  for (int field = 2; field < kStartTimeField && at != text.npos; ++field) at = text.find(' ', at + 1);
  if (at != text.npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), own.startTime);
  return own;
}

ContainerOwners::ContainerOwners(const state::Keys& keys, OwnProcess process)
    : keys_(keys), process_(process) {
  instance_ = audit::toHex(keys.digest(Purpose::kContainer, asBytes(std::string_view("instance"))).bytes)
                  .substr(0, kInstanceCharacters);
}

std::string ContainerOwners::proofOf(const std::string& runId, const std::string& actionId) const {
  const auto content = "owner\0" + instance_ + '\0' + runId + '\0' + actionId;
  return audit::toHex(keys_.digest(Purpose::kContainer, asBytes(content)).bytes);
}

void ContainerOwners::fill(const std::string& actionId, schema::ContainerOwner::Builder owner) const {
  const auto runId = state::runIdOf(actionId);
  owner.setInstance(instance_.c_str());
  owner.setRun(runId.c_str());
  owner.setAction(actionId.c_str());
  owner.setPid(process_.pid);
  owner.setStartTime(process_.startTime);
  owner.setProof(proofOf(runId, actionId).c_str());
}

bool ContainerOwners::owns(schema::ContainerOwner::Reader owner) const {
  const std::string action(view(owner.getAction()));
  if (view(owner.getInstance()) != instance_ || !state::isId(state::IdKind::kAction, action)) return false;
  const auto runId = state::runIdOf(action);
  const auto proof = proofOf(runId, action);
  return view(owner.getRun()) == runId && owner.getProof().size() == proof.size() &&
         sodium_memcmp(owner.getProof().begin(), proof.data(), proof.size()) == 0;
}

}  // namespace factionos::broker
