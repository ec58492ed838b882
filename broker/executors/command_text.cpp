#include "broker/executors/command_text.h"

#include <string_view>

#include "protocol/text.h"

namespace factionos::broker {
namespace {

std::string shellQuoted(std::string_view argument) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(argument);
  std::string quoted = "'";
  for (const char each : argument) {
    if (each == '\'') {
      quoted += "'\\''";
    } else {
      quoted += each;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string commandText(schema::TerminalRun::Reader request) {
  if (request.hasShell()) return "sh -c " + shellQuoted(view(request.getShell()));
  std::string text;
  for (const auto argument : request.getCommand()) {
    if (!text.empty()) text += ' ';
    text += shellQuoted(view(argument));
  }
  return text;
}

}  // namespace factionos::broker
