#include "workers/container/body.h"

#include <array>

#include <sodium.h>

#include "protocol/json/json_text.h"

namespace factionos::container {
namespace {

using json::JsonText;

constexpr std::uint64_t kNanosPerMilliCpu = 1'000'000;

void texts(JsonText& out, std::string_view name, std::initializer_list<std::string_view> values) {
  out.key(name);
  out.beginArray();
  for (const std::string_view value : values) out.text(value);
  out.endArray();
}

void flag(JsonText& out, std::string_view name, bool value) {
  out.key(name);
  out.boolean(value);
}

void number(JsonText& out, std::string_view name, std::uint64_t value) {
  out.key(name);
  out.unsignedInteger(value);
}

void pairs(JsonText& out, std::string_view name, const Pairs& values) {
  out.key(name);
  out.beginObject();
  for (const auto& [key, value] : values) out.member(key, value);
  out.endObject();
}

void ulimit(JsonText& out, std::string_view name, std::uint64_t value) {
  out.beginObject();
  out.member("Name", name);
  number(out, "Soft", value);
  number(out, "Hard", value);
  out.endObject();
}

// Mounts, not Binds: those make a directory on the host, as root, where there is none. What is mounted below
// the source stays out: a read-only mount would leave it writable.
void mounts(JsonText& out, const Spec& spec) {
  out.key("Mounts");
  out.beginArray();
  for (const Mount& mount : spec.mounts) {
    out.beginObject();
    out.member("Type", "bind");
    out.member("Source", mount.source);
    out.member("Target", mount.target);
    flag(out, "ReadOnly", mount.readOnly);
    out.key("BindOptions");
    out.beginObject();
    out.member("Propagation", "rprivate");
    flag(out, "NonRecursive", true);
    out.endObject();
    out.endObject();
  }
  out.endArray();
}

void walls(JsonText& out, const Spec& spec, const Manner& manner) {
  flag(out, "Privileged", false);
  texts(out, "CapAdd", {});
  texts(out, "CapDrop", {"ALL"});
  texts(out, "SecurityOpt", {"no-new-privileges"});
  flag(out, "ReadonlyRootfs", true);
  out.member("NetworkMode", networkOf(spec));
  out.member("IpcMode", "none");
  out.member("PidMode", "");
  out.member("UTSMode", "");
  out.member("UsernsMode", userNamespaceOf(manner));
  out.member("CgroupnsMode", "private");
  flag(out, "PublishAllPorts", false);
  for (const char* list : {"Binds", "VolumesFrom", "Devices", "DeviceCgroupRules", "ExtraHosts", "Links"})
    texts(out, list, {});
}

void limits(JsonText& out, const Spec& spec) {
  number(out, "Memory", spec.memoryBytes);
  number(out, "MemorySwap", spec.memoryBytes);
  flag(out, "OomKillDisable", false);
  number(out, "NanoCpus", spec.milliCpus * kNanosPerMilliCpu);
  number(out, "PidsLimit", spec.pids);
  out.key("Ulimits");
  out.beginArray();
  ulimit(out, "nofile", spec.openFiles);
  ulimit(out, "core", 0);
  out.endArray();
}

// Kept by us alone: its output goes to whoever is attached, its end is read before it is removed.
void life(JsonText& out) {
  flag(out, "Init", true);
  flag(out, "AutoRemove", false);
  out.key("RestartPolicy");
  out.beginObject();
  out.member("Name", "no");
  out.endObject();
  out.key("LogConfig");
  out.beginObject();
  out.member("Type", "none");
  out.endObject();
}

void hostConfig(JsonText& out, const Spec& spec, const Manner& manner) {
  out.key("HostConfig");
  out.beginObject();
  walls(out, spec, manner);
  limits(out, spec);
  life(out);
  pairs(out, "Tmpfs", {{"/tmp", temporaryOptions(spec)}});
  mounts(out, spec);
  out.endObject();
}

void config(JsonText& out, const Spec& spec) {
  out.member("Image", spec.image);
  texts(out, "Entrypoint", {spec.argv.front()});
  out.key("Cmd");
  out.beginArray();
  for (std::size_t i = 1; i < spec.argv.size(); ++i) out.text(spec.argv[i]);
  out.endArray();
  out.key("Env");
  out.beginArray();
  for (const auto& [name, value] : environmentOf(spec)) out.text(name + "=" + value);
  out.endArray();
  out.member("User", userOf(spec));
  out.member("WorkingDir", workingDirectory(spec));
  out.member("Hostname", "factionos");
  flag(out, "Tty", false);
  flag(out, "AttachStdin", false);
  flag(out, "AttachStdout", true);
  flag(out, "AttachStderr", true);
  flag(out, "OpenStdin", false);
  out.member("StopSignal", "SIGTERM");
  out.key("Healthcheck");
  out.beginObject();
  texts(out, "Test", {"NONE"});  // the image's own would start programs
  out.endObject();
}

// Two specs with one digest are one: what is compared before a container that is already there is taken for
// the one that was asked for.
std::string digestOf(const Spec& spec, const Manner& manner) {
  std::string text;
  JsonText out(text);
  out.beginObject();
  config(out, spec);
  hostConfig(out, spec, manner);
  out.endObject();
  std::array<unsigned char, 16> digest{};
  crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  std::array<char, 2 * digest.size() + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), digest.data(), digest.size());
  return hex.data();
}

}  // namespace

Pairs labelsOf(const Spec& spec, const Manner& manner) {
  const Owner& owner = spec.owner;
  const auto row = [](std::string_view name, std::string value) {
    return std::pair(std::string(name), std::move(value));
  };
  return {row(labels::kManaged, "1"),
          row(labels::kInstance, owner.instance),
          row(labels::kRun, owner.run),
          row(labels::kAction, owner.action),
          row(labels::kOwnerPid, std::to_string(owner.pid)),
          row(labels::kOwnerStart, std::to_string(owner.startTime)),
          row(labels::kProof, owner.proof),
          row(labels::kTemplate, spec.templateId),
          row(labels::kSpec, digestOf(spec, manner))};
}

// Nothing of the broker's or the caller's environment.
Pairs environmentOf(const Spec& spec) {
  return {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
          {"HOME", "/tmp"},
          {"TMPDIR", "/tmp"},
          {"LANG", "C.UTF-8"},
          {"FACTIONOS_RUN", spec.owner.run},
          {"FACTIONOS_TEMPLATE", spec.templateId}};
}

std::string temporaryOptions(const Spec& spec) {
  return "rw,noexec,nosuid,nodev,size=" + std::to_string(spec.temporaryBytes) + ",mode=1777";
}

std::string_view networkOf(const Spec& spec) {
  return spec.egress ? kEgressNetwork : std::string_view("none");
}

// A rootless podman has this very user inside under the same number, so that what is written in the workspace
// belongs to its owner.
std::string_view userNamespaceOf(const Manner& manner) {
  return manner.dialect == Dialect::kPodman && manner.rootless ? "keep-id" : "";
}

std::string_view workingDirectory(const Spec& spec) {
  const bool has = !spec.mounts.empty() && spec.mounts.front().target == kWorkspaceTarget;
  return has ? kWorkspaceTarget : std::string_view("/tmp");
}

std::string userOf(const Spec& spec) {
  return std::to_string(spec.user) + ":" + std::to_string(spec.group);
}

std::string createBody(const Spec& spec, const Manner& manner) {
  std::string text;
  JsonText out(text);
  out.beginObject();
  config(out, spec);
  pairs(out, "Labels", labelsOf(spec, manner));
  hostConfig(out, spec, manner);
  out.endObject();
  return text;
}

}  // namespace factionos::container
