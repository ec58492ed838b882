// What is to be run, judged: the only thing that a create body is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/schemas/container.capnp.h"

namespace factionos::container {

struct Mount {
  std::string source;
  std::string_view target;
  bool readOnly = true;
};

struct Owner {
  std::string instance;
  std::string run;
  std::string action;
  std::uint32_t pid = 0;
  std::uint64_t startTime = 0;
  std::string proof;

  // Of its container. Made of the action alone, so that a retry finds what an earlier try made.
  [[nodiscard]] std::string name() const;
  // Whether what `other` names is this owner's: everything but the process, which may be another by now.
  [[nodiscard]] bool owns(const Owner& other) const;
};

struct Spec {
  std::string templateId;
  std::string image;
  std::string imageId;  // "sha256:…"; empty: whatever `image` names
  std::vector<std::string> argv;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint64_t memoryBytes = 0;
  std::uint32_t milliCpus = 0;
  std::uint32_t pids = 0;
  std::uint32_t openFiles = 0;
  std::uint64_t temporaryBytes = 0;
  std::uint64_t timeoutMs = 0;
  std::uint32_t graceMs = 0;
  std::vector<Mount> mounts;  // the workspace first
  bool egress = false;        // else no network
  Owner owner;
};

inline constexpr std::string_view kWorkspaceTarget = "/workspace";
inline constexpr std::string_view kAuthTarget = "/auth";
inline constexpr std::string_view kEgressNetwork = "factionos-egress";

// Null when it is done, else the name of the field that is not as the schema says.
const char* readOwner(schema::ContainerOwner::Reader from, Owner& owner);
const char* readSpec(schema::ContainerSpec::Reader from, Spec& spec);

// "sha256:" and 64 hex digits.
bool isImageId(std::string_view text);
// [A-Za-z0-9_-]{1,64}
bool isId(std::string_view text);
// [A-Za-z0-9][A-Za-z0-9._:@+/-]{0,63}
bool isLabel(std::string_view text);
// The schema's grammar of an image's name.
bool isImageName(std::string_view text);

}  // namespace factionos::container
