// How every worker begins: identity and descriptors, then the sandbox, then service.
#pragma once

#include <string_view>
#include <vector>

#include <kj/function.h>

#include "sandbox/enter.h"
#include "sandbox/policy.h"
#include "workers/common/descriptors.h"

namespace factionos::worker {

// Exit statuses of a worker.
inline constexpr int kStartedByHand = 2;
inline constexpr int kSetupFailed = 70;
inline constexpr int kInternalError = 71;

// Ends the process with one line on standard error and status 2 unless it was started as a worker is: kLine
// is a stream socketpair made by a process of our own user, kEvents a pipe open for writing, and each of
// `scopes` an open directory, each of `programs` an open file. Also sets what the rest relies on: umask 077,
// working directory "/", close-on-exec on every inherited descriptor.
void mustBeStarted(std::string_view name, const std::vector<int>& scopes = {},
                   const std::vector<int>& programs = {});

// Throws SetupError at Step::kSelfCheck unless the posture shows no_new_privs, not dumpable and a filter, and
// no descriptor but the policy's is open.
void selfCheck(const sandbox::Policy& policy, const sandbox::Posture& posture);

// Runs `body` and returns the process's exit status: 0 when it returned, else what an event on kEvents tells
// too.
int guarded(kj::FunctionParam<void()> body) noexcept;

}  // namespace factionos::worker
