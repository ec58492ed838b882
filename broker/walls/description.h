// A profile in words: one value, from which both the text and the JSON of `sandbox show` are written, and
// docs/profiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broker/walls/profiles.h"

namespace factionos::walls {

struct DescribedRow {
  std::string subject;               // "/usr", "ptrace", "RLIMIT_NOFILE"
  std::string right;                 // "read, execute", "EPERM", "4096"
  std::string reason;                // empty where the subject says it all
  std::vector<std::string> details;  // calls with what their arguments must be
};

struct DescribedSection {
  std::string_view id;  // "files"
  std::string summary;
  std::vector<DescribedRow> rows;
};

struct Description {
  std::string_view name;
  std::string_view purpose;
  std::string_view within;
  std::vector<DescribedSection> sections;
};

// Of a scene whose paths are names (documentScene), so that nothing of this machine is in it.
Description describe(const Profile& profile, const Scene& scene);

std::string asText(const Description& description);
// One JSON object, with a newline at its end.
std::string asJson(const Description& description);

// The calls of a family, each with its tests: "read", "ioctl a1=0x5412", "socket a0=2 a1&0xf=0|3..15". A
// number that has no name yet is told as it is. Arguments count from 0 and are 32 bits wide, or "a0:64".
std::vector<std::string> callTexts(const sandbox::Family& family);
std::string verdictText(const sandbox::Verdict& verdict);

}  // namespace factionos::walls
