#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "broker/policy/grant.h"
#include "broker/policy/policy.h"

namespace factionos::policy::testing {

inline constexpr Time kNow{std::chrono::milliseconds(1'900'000'000'000)};  // 2030-03-17T17:46:40Z
inline constexpr auto kHour = std::chrono::hours(1);

inline Policy parsed(std::string_view text) {
  auto policy = Policy::parse(text, {});
  if (!policy) ADD_FAILURE() << policy.problem().text();
  return std::move(policy).value();
}

inline Request run(Program program = Program::system("/usr/bin/make")) {
  Request request;
  request.subject = {Family::kTerminal, "run", "demo", "ci", std::move(program), "none", "default"};
  request.now = kNow;
  request.approver = Approver::kPresent;
  return request;
}

inline Request of(Family family, std::string operation) {
  Request request = run();
  request.subject.family = family;
  request.subject.operation = std::move(operation);
  if (family != Family::kTerminal) request.subject.program = Program::none();
  return request;
}

inline Verdict verdict(const Policy& policy, const Request& request) {
  return policy.evaluate(request, {}).verdict;
}

inline std::string rule(const std::string& body) {
  return "[[rule]]\nfamily = \"terminal\"\noperation = \"run\"\n" + body;
}

}  // namespace factionos::policy::testing
