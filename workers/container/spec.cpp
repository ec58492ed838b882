#include "workers/container/spec.h"

#include <algorithm>

#include "protocol/text.h"

namespace factionos::container {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;
constexpr std::size_t kMaxWords = 64;
constexpr std::size_t kMaxWordBytes = 4096;
constexpr std::size_t kMaxPathBytes = 4095;
constexpr std::size_t kMaxLabelBytes = 64;
constexpr std::size_t kMaxImageBytes = 128;
constexpr std::uint64_t kWeekMs = std::uint64_t{7} * 24 * 3600 * 1000;

bool isAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool within(std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  return value >= least && value <= most;
}

// As the broker has it from the kernel: nothing that means another place than it says.
bool isCanonicalPath(std::string_view path) {
  if (path.size() < 2 || path.size() > kMaxPathBytes || path.front() != '/' || path.back() == '/')
    return false;
  if (path.find('\0') != path.npos || path.find("//") != path.npos) return false;
  const std::string whole = std::string(path) + "/";
  return whole.find("/./") == whole.npos && whole.find("/../") == whole.npos;
}

const char* readLimits(schema::ContainerLimits::Reader from, Spec& spec) {
  spec.memoryBytes = from.getMemoryBytes();
  spec.milliCpus = from.getMilliCpus();
  spec.pids = from.getPids();
  spec.openFiles = from.getOpenFiles();
  spec.temporaryBytes = from.getTemporaryBytes();
  spec.timeoutMs = from.getTimeoutMs();
  spec.graceMs = from.getGraceMs();
  if (!within(spec.memoryBytes, 8 * kMiB, 1024 * kGiB)) return "memoryBytes";
  if (!within(spec.milliCpus, 10, 1'024'000)) return "milliCpus";
  if (!within(spec.pids, 1, 32768)) return "pids";
  if (!within(spec.openFiles, 16, 1'048'576)) return "openFiles";
  if (!within(spec.temporaryBytes, 64 * kKiB, 16 * kGiB)) return "temporaryBytes";
  if (!within(spec.timeoutMs, 1, kWeekMs)) return "timeoutMs";
  if (!within(spec.graceMs, 1, 60'000)) return "graceMs";
  return nullptr;
}

const char* readMount(schema::ContainerMount::Reader from, Spec& spec) {
  Mount mount;
  mount.source = view(from.getSource());
  if (!isCanonicalPath(mount.source)) return "source";
  const bool known =
      from.getAccess() == schema::MountAccess::READ || from.getAccess() == schema::MountAccess::WRITE;
  if (!known) return "access";
  switch (from.getRole()) {
    case schema::MountRole::WORKSPACE:
      mount.target = kWorkspaceTarget;
      mount.readOnly = from.getAccess() != schema::MountAccess::WRITE;
      break;
    case schema::MountRole::AUTH:
      mount.target = kAuthTarget;
      break;
    default:
      return "role";
  }
  if (std::ranges::find(spec.mounts, mount.target, &Mount::target) != spec.mounts.end()) return "role";
  spec.mounts.push_back(std::move(mount));
  return nullptr;
}

const char* readArgv(capnp::List<capnp::Text>::Reader from, Spec& spec) {
  if (from.size() == 0 || from.size() > kMaxWords) return "argv";
  for (const auto word : from) {
    const std::string_view text = view(word);
    if (text.size() > kMaxWordBytes || text.find('\0') != text.npos) return "argv";
    spec.argv.emplace_back(text);
  }
  return spec.argv.front().empty() ? "argv" : nullptr;
}

}  // namespace

bool isLabel(std::string_view text) {
  static constexpr std::string_view kMore = "._:@+/-";
  return !text.empty() && text.size() <= kMaxLabelBytes && isAlphanumeric(text.front()) &&
         std::ranges::all_of(text, [](char c) { return isAlphanumeric(c) || kMore.find(c) != kMore.npos; });
}

bool isId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabelBytes &&
         std::ranges::all_of(text, [](char c) { return isAlphanumeric(c) || c == '_' || c == '-'; });
}

bool isImageName(std::string_view text) {
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > kMaxImageBytes || !lower(text.front())) return false;
  const std::size_t colon = text.find(':');
  const auto isName = [&](char c) { return lower(c) || c == '.' || c == '_' || c == '/' || c == '-'; };
  if (!std::ranges::all_of(text.substr(0, colon), isName)) return false;
  if (text.substr(0, colon).find("..") != text.npos || text.substr(0, colon).find("//") != text.npos)
    return false;
  if (colon == text.npos) return true;
  const std::string_view tag = text.substr(colon + 1);
  return !tag.empty() && isAlphanumeric(tag.front()) && std::ranges::all_of(tag, [](char c) {
    return isAlphanumeric(c) || c == '.' || c == '_' || c == '-';
  });
}

bool isImageId(std::string_view text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  constexpr std::size_t kDigits = 64;
  if (!text.starts_with(kAlgorithm)) return false;
  const std::string_view digits = text.substr(kAlgorithm.size());
  return digits.size() == kDigits && digits.find_first_not_of("0123456789abcdef") == digits.npos;
}

std::string Owner::name() const {
  std::string name = "factionos-";
  for (const char c : action) {
    if (c == '_') {
      name += '-';
    } else {
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return name;
}

bool Owner::owns(const Owner& other) const {
  return instance == other.instance && run == other.run && action == other.action && proof == other.proof;
}

const char* readOwner(schema::ContainerOwner::Reader from, Owner& owner) {
  owner.instance = view(from.getInstance());
  owner.run = view(from.getRun());
  owner.action = view(from.getAction());
  owner.pid = from.getPid();
  owner.startTime = from.getStartTime();
  owner.proof = view(from.getProof());
  if (!isId(owner.instance)) return "instance";
  if (!isId(owner.run)) return "run";
  if (!isId(owner.action)) return "action";
  if (!isId(owner.proof)) return "proof";
  return nullptr;
}

const char* readSpec(schema::ContainerSpec::Reader from, Spec& spec) {
  spec.templateId = view(from.getTemplate());
  spec.image = view(from.getImage());
  spec.user = from.getUser();
  spec.group = from.getGroup();
  constexpr std::uint32_t kNobody = 0xffff'ffff;  // what the kernel takes for no user at all
  if (!isLabel(spec.templateId)) return "template";
  if (!isImageName(spec.image)) return "image";
  spec.imageId = view(from.getImageId());
  if (!spec.imageId.empty() && !isImageId(spec.imageId)) return "imageId";
  if (const char* field = readArgv(from.getArgv(), spec)) return field;
  if (spec.user == 0 || spec.user == kNobody) return "user";
  if (spec.group == 0 || spec.group == kNobody) return "group";
  if (const char* field = readLimits(from.getLimits(), spec)) return field;
  for (const auto mount : from.getMounts()) {
    if (const char* field = readMount(mount, spec)) return field;
  }
  std::stable_partition(spec.mounts.begin(), spec.mounts.end(),
                        [](const Mount& mount) { return mount.target == kWorkspaceTarget; });
  if (from.getNetwork() != schema::ContainerNetwork::NONE &&
      from.getNetwork() != schema::ContainerNetwork::EGRESS)
    return "network";
  spec.egress = from.getNetwork() == schema::ContainerNetwork::EGRESS;
  return readOwner(from.getOwner(), spec.owner);
}

}  // namespace factionos::container
