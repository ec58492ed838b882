#include "broker/home/result.h"

namespace factionos::home {

const char* label(ProblemCode code) {
  switch (code) {
    case ProblemCode::kNotFound:
      return "not_found";
    case ProblemCode::kExists:
      return "exists";
    case ProblemCode::kUnsafe:
      return "unsafe";
    case ProblemCode::kInvalid:
      return "invalid";
    case ProblemCode::kRefused:
      return "refused";
    case ProblemCode::kBusy:
      return "busy";
    case ProblemCode::kIo:
      return "io";
  }
  return "io";
}

std::string Problem::text() const {
  return remedy.empty() ? message : message + "; " + remedy;
}

}  // namespace factionos::home
