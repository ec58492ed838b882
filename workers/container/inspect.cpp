#include "workers/container/inspect.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace factionos::container {
namespace {

constexpr std::uint64_t kNanosPerMilliCpu = 1'000'000;

struct Word {
  std::string_view text;
  Life life;
};
// Docker's and podman's. What is paused or restarting has not ended.
constexpr std::array kWords = {
    Word{"created", Life::kCreated},     Word{"configured", Life::kCreated},
    Word{"initialized", Life::kCreated}, Word{"running", Life::kRunning},
    Word{"paused", Life::kRunning},      Word{"restarting", Life::kRunning},
    Word{"stopping", Life::kRunning},    Word{"stopped", Life::kEnded},
    Word{"exited", Life::kEnded},        Word{"removing", Life::kRemoving},
    Word{"dead", Life::kRemoving},
};

template <typename Number>
std::optional<Number> numberIn(const MaybeElement& labels, std::string_view name) {
  const auto text = textOf(member(labels, name));
  Number value{};
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

// Each check is one field by its name; true: as it was meant.
bool isText(const MaybeElement& in, std::string_view name, std::string_view meant) {
  return textOf(member(in, name)).value_or("") == meant;
}
bool isFlag(const MaybeElement& in, std::string_view name, bool meant) {
  return boolOf(member(in, name)).value_or(false) == meant;
}
bool isNumber(const MaybeElement& in, std::string_view name, std::uint64_t meant) {
  const auto value = integerOf(member(in, name));
  return value && *value >= 0 && static_cast<std::uint64_t>(*value) == meant;
}
bool isEmpty(const MaybeElement& in, std::string_view name) {
  return countOf(member(in, name)) == std::size_t{0};
}
bool areTexts(const MaybeElement& in, std::string_view name, const std::vector<std::string_view>& meant) {
  return textsOf(member(in, name)) == meant;
}

// Podman tells the capabilities one by one that are missing of those that it gives by default.
bool dropsAll(const MaybeElement& host, const Manner& manner) {
  const auto dropped = textsOf(member(host, "CapDrop"));
  if (!dropped) return false;
  if (dropped->size() == 1 && dropped->front() == "ALL") return true;
  if (manner.dialect != Dialect::kPodman) return false;
  constexpr std::array kGiven = {"CHOWN",  "DAC_OVERRIDE",     "FOWNER",    "FSETID",
                                 "KILL",   "SETFCAP",          "SETGID",    "SETPCAP",
                                 "SETUID", "NET_BIND_SERVICE", "SYS_CHROOT"};
  return std::ranges::all_of(kGiven, [&](const std::string& name) {
    return std::ranges::any_of(*dropped, [&](auto each) { return each == name || each == "CAP_" + name; });
  });
}

// Ours and no other: the engine's own additions, such as a profile by name, would be another one than its
// default.
bool gainsNothing(const MaybeElement& host) {
  const auto options = textsOf(member(host, "SecurityOpt"));
  return options && options->size() == 1 &&
         (options->front() == "no-new-privileges" || options->front() == "no-new-privileges:true" ||
          options->front() == "no-new-privileges=true");
}

bool hasLimit(const MaybeElement& host, std::string_view name, std::uint64_t meant) {
  return std::ranges::any_of(elementsOf(member(host, "Ulimits")), [&](Element each) {
    const auto kind = textOf(member(each, "Name")).value_or("");
    const bool same = kind == name || kind == "RLIMIT_" + std::string(name == "core" ? "CORE" : "NOFILE");
    return same && isNumber(each, "Soft", meant) && isNumber(each, "Hard", meant);
  });
}

// With a read-only root podman gives two more such places, in memory that counts as the container's, and
// options of its own behind ours.
bool hasTemporary(const MaybeElement& host, const Spec& spec, const Manner& manner) {
  const MaybeElement table = member(host, "Tmpfs");
  const std::string options(textOf(member(table, "/tmp")).value_or(""));
  const std::string meant = temporaryOptions(spec);
  const std::size_t all = countOf(table).value_or(0);
  if (manner.dialect == Dialect::kDocker) return options == meant && all == 1;
  const std::size_t more = (member(table, "/run") ? 1U : 0U) + (member(table, "/var/tmp") ? 1U : 0U);
  return options.starts_with(meant) && all == 1 + more;
}

// Podman takes `none` for one of its own that others could be let into by its owner.
bool hasIpc(const MaybeElement& host, const Manner& manner) {
  const auto mode = textOf(member(host, "IpcMode")).value_or("");
  return mode == "none" || (manner.dialect == Dialect::kPodman && (mode == "private" || mode == "shareable"));
}

bool isMount(Element found, const Mount& meant) {
  const auto writable = boolOf(member(found, "RW"));
  const auto propagation = textOf(member(found, "Propagation")).value_or("");
  return isText(found, "Type", "bind") && isText(found, "Source", meant.source) &&
         isText(found, "Destination", meant.target) && writable == !meant.readOnly &&
         (propagation == "rprivate" || propagation == "private");
}

// Exactly those: a volume of the image's would be a place without a limit.
bool hasMounts(const MaybeElement& container, const Spec& spec) {
  const MaybeElement list = member(container, "Mounts");
  if (countOf(list) != spec.mounts.size()) return false;
  const std::vector<Element> found = elementsOf(list);
  return std::ranges::all_of(spec.mounts, [&](const Mount& meant) {
    return std::ranges::any_of(found, [&](Element each) { return isMount(each, meant); });
  });
}

bool hasEnvironment(const MaybeElement& config, const Spec& spec) {
  const auto found = textsOf(member(config, "Env"));
  if (!found) return false;
  return std::ranges::all_of(environmentOf(spec), [&](const auto& variable) {
    return std::ranges::find(*found, variable.first + "=" + variable.second) != found->end();
  });
}

bool runsWhatWasMeant(const MaybeElement& config, const Spec& spec) {
  std::vector<std::string_view> rest(spec.argv.begin() + 1, spec.argv.end());
  const bool whole = areTexts(config, "Entrypoint", {spec.argv.front()}) && areTexts(config, "Cmd", rest);
  if (whole) return true;
  // Podman's older ones tell the entry point as one text.
  return isText(config, "Entrypoint", spec.argv.front()) && areTexts(config, "Cmd", rest);
}

const char* configDifference(const MaybeElement& config, const Spec& spec) {
  if (!isText(config, "User", userOf(spec))) return "User";
  if (!runsWhatWasMeant(config, spec)) return "Entrypoint";
  if (!hasEnvironment(config, spec)) return "Env";
  if (!isText(config, "WorkingDir", workingDirectory(spec))) return "WorkingDir";
  if (!isFlag(config, "Tty", false)) return "Tty";
  if (!isFlag(config, "OpenStdin", false)) return "OpenStdin";
  return nullptr;
}

const char* wallDifference(const MaybeElement& host, const Spec& spec, const Manner& manner) {
  if (!isFlag(host, "Privileged", false)) return "Privileged";
  if (!isEmpty(host, "CapAdd")) return "CapAdd";
  if (!dropsAll(host, manner)) return "CapDrop";
  if (!gainsNothing(host)) return "SecurityOpt";
  if (!isFlag(host, "ReadonlyRootfs", true)) return "ReadonlyRootfs";
  if (!isText(host, "NetworkMode", networkOf(spec))) return "NetworkMode";
  if (!hasIpc(host, manner)) return "IpcMode";
  for (const char* name : {"PidMode", "UTSMode"}) {
    const auto mode = textOf(member(host, name)).value_or("");
    if (!mode.empty() && mode != "private") return name;
  }
  const auto user = textOf(member(host, "UsernsMode")).value_or("");
  if (user != userNamespaceOf(manner) && !(user == "private" && manner.dialect == Dialect::kPodman))
    return "UsernsMode";
  if (manner.dialect == Dialect::kDocker && !isText(host, "CgroupnsMode", "private")) return "CgroupnsMode";
  if (!isFlag(host, "PublishAllPorts", false)) return "PublishAllPorts";
  for (const char* list : {"VolumesFrom", "Devices", "DeviceCgroupRules", "DeviceRequests", "ExtraHosts",
                           "PortBindings", "Links", "Sysctls", "GroupAdd"}) {
    if (!isEmpty(host, list)) return list;
  }
  if (manner.dialect == Dialect::kDocker && !isEmpty(host, "Binds")) return "Binds";
  return nullptr;
}

const char* limitDifference(const MaybeElement& host, const Spec& spec, const Manner& manner) {
  if (!isNumber(host, "Memory", spec.memoryBytes)) return "Memory";
  if (!isNumber(host, "MemorySwap", spec.memoryBytes)) return "MemorySwap";
  if (!isFlag(host, "OomKillDisable", false)) return "OomKillDisable";
  const std::uint64_t nanos = spec.milliCpus * kNanosPerMilliCpu;
  if (!isNumber(host, "NanoCpus", nanos)) return "NanoCpus";
  if (!isNumber(host, "PidsLimit", spec.pids)) return "PidsLimit";
  if (!hasLimit(host, "nofile", spec.openFiles)) return "Ulimits";
  if (!hasLimit(host, "core", 0)) return "Ulimits";
  if (!hasTemporary(host, spec, manner)) return "Tmpfs";
  if (!isFlag(host, "AutoRemove", false)) return "AutoRemove";
  const auto restart = textOf(member(member(host, "RestartPolicy"), "Name")).value_or("");
  if (restart != "no" && !restart.empty()) return "RestartPolicy";
  if (manner.dialect == Dialect::kDocker && !isFlag(host, "Init", true)) return "Init";
  if (!isText(member(host, "LogConfig"), "Type", "none")) return "LogConfig";
  return nullptr;
}

}  // namespace

bool isContainerId(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::optional<std::string> idOf(const MaybeElement& container) {
  const auto id = textOf(member(container, "Id"));
  return id && isContainerId(*id) ? std::optional<std::string>(*id) : std::nullopt;
}

std::optional<Life> lifeOf(std::string_view word) {
  const auto* row = std::ranges::find(kWords, word, &Word::text);
  return row == kWords.end() ? std::nullopt : std::optional(row->life);
}

std::optional<State> stateOf(const MaybeElement& container) {
  const MaybeElement from = member(container, "State");
  const auto life = lifeOf(textOf(member(from, "Status")).value_or(""));
  if (!life) return std::nullopt;
  State state{*life};
  const auto code = integerOf(member(from, "ExitCode"));
  if (*life == Life::kEnded && code && *code >= 0 && *code <= 255) state.exitCode = static_cast<int>(*code);
  state.outOfMemory = boolOf(member(from, "OOMKilled")).value_or(false);
  return state;
}

MaybeElement labelsIn(const MaybeElement& container) {
  return member(member(container, "Config"), "Labels");
}

std::optional<Owner> ownerOf(const MaybeElement& found) {
  if (!isText(found, labels::kManaged, "1")) return std::nullopt;
  Owner owner;
  const auto pid = numberIn<std::uint32_t>(found, labels::kOwnerPid);
  const auto start = numberIn<std::uint64_t>(found, labels::kOwnerStart);
  owner.instance = textOf(member(found, labels::kInstance)).value_or("");
  owner.run = textOf(member(found, labels::kRun)).value_or("");
  owner.action = textOf(member(found, labels::kAction)).value_or("");
  owner.proof = textOf(member(found, labels::kProof)).value_or("");
  if (!pid || !start || !isId(owner.instance) || !isId(owner.run) || !isId(owner.action) ||
      !isId(owner.proof))
    return std::nullopt;
  owner.pid = *pid;
  owner.startTime = *start;
  return owner;
}

const char* differenceFrom(const MaybeElement& container, const Spec& spec, const Manner& manner) {
  const MaybeElement host = member(container, "HostConfig");
  if (!host) return "HostConfig";
  const auto owner = ownerOf(labelsIn(container));
  if (!owner || !spec.owner.owns(*owner)) return "Labels";
  if (const char* field = configDifference(member(container, "Config"), spec)) return field;
  if (const char* field = wallDifference(host, spec, manner)) return field;
  if (const char* field = limitDifference(host, spec, manner)) return field;
  return hasMounts(container, spec) ? nullptr : "Mounts";
}

std::optional<std::string> imageIdIn(const MaybeElement& from, std::string_view name) {
  std::string id(textOf(member(from, name)).value_or(""));
  if (id.find(':') == id.npos) id = "sha256:" + id;  // as podman says it
  return isImageId(id) ? std::optional(id) : std::nullopt;
}

bool isOfSpec(const MaybeElement& container, const Spec& spec, const Manner& manner) {
  const MaybeElement found = labelsIn(container);
  const auto owner = ownerOf(found);
  if (!owner || !spec.owner.owns(*owner)) return false;
  return std::ranges::all_of(labelsOf(spec, manner), [&](const auto& label) {
    const bool process = label.first == labels::kOwnerPid || label.first == labels::kOwnerStart;
    return process || isText(found, label.first, label.second);
  });
}

}  // namespace factionos::container
