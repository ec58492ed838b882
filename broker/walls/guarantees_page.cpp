#include <algorithm>
#include <sstream>
#include <vector>

#include "broker/walls/guarantees.h"
#include "broker/walls/profiles.h"
#include "sandbox/verify/act.h"

namespace factionos::walls {
namespace {

using sandbox::verify::Feature;
using sandbox::verify::Guarantee;
using sandbox::verify::Strength;

constexpr const char* kHead = R"(# Guarantees

What each profile promises, and which layer carries it. Generated: `factionos sandbox verify --list`. The same table is what
`factionos sandbox verify` puts to the proof; each row is one line of its report.

- **required** has to hold on every kernel that FactionOS runs on. **optional** has to hold where the kernel has what it
  needs; where it has not, the row is `inconclusive` and the session's posture names what is missing.
- The layer named is the one that has to refuse by itself, all others taken away. That others refuse as well does not
  make the row green.
- `verify --require ID` makes an optional row count whatever the kernel has.
- What `verify` does not prove: limits of a tree's memory and processor time, which are watched and not the kernel's; that the
  launcher and a session before its start open no network and no state, which is a property of their few hundred lines;
  file modes and other users' rights, which are the machine's.
)";

std::string needs(const Guarantee& guarantee) {
  if (guarantee.needs != Feature::kNone) return std::string(label(guarantee.needs));
  return guarantee.profileNeeds == Feature::kNone ? std::string("–")
                                                  : std::string(label(guarantee.profileNeeds));
}

void writeRow(std::ostream& out, const Guarantee& guarantee) {
  out << "| `" << guarantee.id << "` | It " << guarantee.promise << ". | " << label(guarantee.layer) << " | "
      << (guarantee.strength == Strength::kRequired ? "required" : "optional") << " | " << needs(guarantee)
      << " | ";
  const char* separator = "";
  for (const std::string_view name : guarantee.forbidden) {
    out << separator << sandbox::verify::findAct(name)->attempt;
    separator = "; ";
  }
  out << " |\n";
}

// In words, each once.
std::string allowedIn(std::string_view profile) {
  std::vector<std::string_view> names;
  std::string text;
  for (const Guarantee& guarantee : guarantees()) {
    if (guarantee.profile != profile || std::ranges::find(names, guarantee.allowed) != names.end()) continue;
    text += (names.empty() ? "" : "; ") + std::string(sandbox::verify::findAct(guarantee.allowed)->attempt);
    names.push_back(guarantee.allowed);
  }
  return text;
}

}  // namespace

std::string guaranteesPage() {
  std::ostringstream out;
  out << kHead;
  for (const Profile& profile : profiles()) {
    out << "\n## " << profile.name << "\n\nIts work: " << profile.purpose
        << ". Shown to work in it: " << allowedIn(profile.name)
        << ".\n\n| id | promise | layer | | needs | tried |\n|---|---|---|---|---|---|\n";
    for (const Guarantee& guarantee : guarantees()) {
      if (guarantee.profile == profile.name) writeRow(out, guarantee);
    }
  }
  return out.str();
}

}  // namespace factionos::walls
