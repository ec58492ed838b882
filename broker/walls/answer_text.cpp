#include "broker/walls/answer_text.h"

#include "protocol/json/json_text.h"
#include "sandbox/errno_name.h"

namespace factionos::walls {
namespace {

std::string_view wordOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllowed:
      return "allowed";
    case Verdict::kDenied:
      return "denied";
    case Verdict::kFails:
      break;
  }
  return "fails";
}

// What the process sees.
std::string seen(const sandbox::explain::Answer& answer) {
  if (answer.ends) return "it is ended";
  return answer.error != 0 ? std::string(sandbox::errnoName(answer.error)) : "";
}

}  // namespace

Verdict verdictOf(const sandbox::explain::Answer& answer) {
  if (answer.allowed) return Verdict::kAllowed;
  return answer.layer == sandbox::explain::Layer::kSystem ? Verdict::kFails : Verdict::kDenied;
}

std::string asText(const sandbox::explain::Answer& answer) {
  std::string text(wordOf(verdictOf(answer)));
  if (const std::string what = seen(answer); !what.empty()) text += " (" + what + ")";
  text += "\n";
  if (answer.layer == sandbox::explain::Layer::kNone) return text + "  no rule is against it\n";
  return text + "  by    " + std::string(nameOf(answer.layer)) + "\n  rule  " + answer.rule + "\n  why   " +
         answer.reason + "\n";
}

std::string asJson(const sandbox::explain::Answer& answer) {
  std::string out;
  json::JsonText text(out);
  text.beginObject();
  text.member("verdict", wordOf(verdictOf(answer)));
  text.member("seen", seen(answer));
  text.member("layer", nameOf(answer.layer));
  text.member("rule", answer.rule);
  text.member("reason", answer.reason);
  text.endObject();
  return out + "\n";
}

}  // namespace factionos::walls
