// policy.toml as somebody wrote it. Whatever loads keeps the promises of the language.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "broker/policy/grant.h"
#include "broker/policy/policy.h"

namespace {

using namespace factionos::policy;

void require(bool condition) {
  if (!condition) std::abort();
}

// An error tells a place and a name of ours, nothing of the text.
void checkProblem(const std::string& told) {
  require(told.find('\n') == std::string::npos && told.size() < 1024);
  for (const char letter : told) require(static_cast<unsigned char>(letter) >= 0x20);
}

void checkDecisions(const Policy& policy) {
  const GrantList none;
  const std::array programs{Program::none(), Program::system("/usr/bin/make"), Program::shellLine(),
                            Program::workspace()};
  for (const char* operation : {"run", "preview", "list", "no such operation"}) {
    for (const auto& program : programs) {
      const Request request{.subject = {.family = Family::kTerminal,
                                        .operation = operation,
                                        .workspace = "demo",
                                        .principal = "ci",
                                        .program = program,
                                        .network = "none",
                                        .profile = "default"}};
      const auto decision = policy.evaluate(request, none);
      require(decision.verdict != Verdict::kAsk);  // nobody is there to be asked
      require(policy.explain(request, none).decision.verdict == decision.verdict);
      require(decision.reason.size() <= 160);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = Policy::parse(text, {});
  if (!policy.ok()) {
    checkProblem(policy.problem().text());
    return 0;
  }
  require(policy.value().ruleCount() <= kMaxRules);
  checkDecisions(policy.value());
  const auto again = Policy::parse(text, policy.value().revision());
  require(again.ok() && again.value().revision() == policy.value().revision());
  return 0;
}
