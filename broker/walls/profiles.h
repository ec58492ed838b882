// Every sandbox profile of the product, by name: what is shown, explained and verified.
#pragma once

#include <span>
#include <string_view>

#include "sandbox/namespaces.h"
#include "sandbox/policy.h"
#include "workers/session/command_policy.h"

namespace factionos::walls {

// What a profile is made for. Without descriptors (-1) a policy is good for showing and compiling, and not
// for entering. Descriptors are borrowed.
struct Scene {
  int landlockAbi = 0;
  sandbox::NamespaceSupport support;     // what this kernel gives to commands: an errno a kind, 0 works
  sandbox::NamespacePosture namespaces;  // what the process was given before it enters its profile
  int home = -1;                         // broker: its home
  int children = -1;                     // broker: the list of its own children
  int programs = -1;                     // launcher: the directory of the workers; probe: the program
  int workspace = -1;                    // file: its one workspace
  std::vector<int> keep;                 // broker, keeper, audit reader: every descriptor that stays open
  session::CommandScope command;         // commands; what their network is, the profile says
};

struct Profile {
  std::string_view name;     // unique: "command-full"
  std::string_view role;     // "command"; what `--profile` takes as well
  std::string_view purpose;  // one sentence
  // The profile that was entered before this one and holds on below it; empty: none.
  std::string_view within;
  // What to ask for before policy() is made; null: nothing.
  sandbox::Namespaces (*namespaces)();
  sandbox::Policy (*policy)(const Scene&);
};

// A later profile is one more row here.
std::span<const Profile> profiles();

// The one of that name, or null.
const Profile* findProfile(std::string_view name);

// What a process of this profile is given before it enters, on a kernel of that support.
sandbox::NamespacePosture namespacesOf(const Profile& profile, const sandbox::NamespaceSupport& support);

// A scene with names in place of paths that depend on the machine, for dumps and documents: of a kernel of
// that support, with the newest Landlock that the profiles know.
Scene documentScene(const Profile& profile, const sandbox::NamespaceSupport& support);

}  // namespace factionos::walls
