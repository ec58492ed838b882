#include "broker/cli/card.h"

#include <cctype>
#include <iostream>

namespace factionos::cli {

std::string enumName(std::string_view enumerant) {
  std::string name;
  for (const char each : enumerant) {
    if (std::isupper(static_cast<unsigned char>(each)) != 0) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  }
  return name;
}

void printCard(schema::Action::Reader action) {
  const auto card = action.getCard();
  const auto row = [](const char* name, const std::string& value) {
    if (!value.empty())
      std::cout << "  " << name << std::string(18 - std::string(name).size(), ' ') << value << "\n";
  };
  std::cout << "Action " << action.getId().cStr() << ", revision " << action.getRevision() << ", "
            << nameOf(action.getState()) << "\n";
  row("family", nameOf(card.getFamily()));
  row("operation", card.getOperationClass().cStr());
  row("target", card.getTarget().cStr());
  row("program", card.getProgram().cStr());
  row("network", nameOf(card.getNetworkProfile()));
  row("risk", nameOf(card.getRisk()));
  row("expected change", card.getExpectedMutation().cStr());
  row("rollback", nameOf(card.getRollback()));
  row("", card.getRollbackGuidance().cStr());
  row("idempotency", nameOf(card.getIdempotency()));
  row("asked by", action.getRequester().cStr());
  for (const auto note : card.getNotes()) std::cout << "  * " << note.cStr() << "\n";
}

void printRow(schema::Action::Reader action) {
  std::cout << action.getId().cStr() << "  r" << action.getRevision() << "  " << nameOf(action.getState())
            << "  " << action.getCard().getOperationClass().cStr() << "  " << action.getTarget().cStr()
            << "  " << action.getRequester().cStr() << "\n";
}

}  // namespace factionos::cli
