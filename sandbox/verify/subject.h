// A profile as it is put to the proof.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/enter.h"
#include "sandbox/namespaces.h"
#include "sandbox/policy.h"
#include "sandbox/verify/guarantee.h"

namespace factionos::sandbox::verify {

class World;

// Who ends the processes that are left when the first one has ended.
enum class Tree {
  kNobody,
  kParent,  // as a keeper: init of the pid namespace, else killDomain() within a scope that it proved
};

// The directory that it has on kScopeDescriptor.
enum class Scope { kWorkspace, kHome };

struct Subject {
  std::string_view name;
  std::string_view role;
  std::string_view purpose;
  Namespaces namespaces;  // entered first
  // What is entered, in order: the first by enterInside(), each later one by narrow().
  std::function<std::vector<Policy>(const World&, const NamespacePosture&)> policies;
  // The environment that it is started with, or hands on, made of the present one.
  std::function<std::vector<std::string>(std::span<const char* const>)> environment;
  Tree tree = Tree::kNobody;
  Scope scope = Scope::kWorkspace;
  Posture (*enter)(const Policy&, const NamespacePosture&) = &enterInside;
  // With a supervisor, for guarantees of that layer: returns in a child that is inside; the caller answers
  // its calls from then on, and ends with it. Empty: there is none, and such a policy is entered without.
  std::function<void(const World&, const Policy&, const NamespacePosture&)> enterSupervised;
};

// Of `policy`, the one layer: the others as if this policy did not have them. What every policy does in any
// case (descriptors, no_new_privs, capabilities, not dumpable) stays. A filter answers with kSentinel in
// place of its own errnos, so that no answer of the kernel is taken for the filter's.
Policy only(Layer layer, Policy policy);
inline constexpr int kSentinel = 123;  // ENOMEDIUM: of no call that is probed

}  // namespace factionos::sandbox::verify
