#include "broker/executors/denials.h"

#include <algorithm>
#include <array>

#include "broker/audit/label.h"
#include "broker/core/log.h"
#include "protocol/rpc/deadline.h"

namespace factionos::broker {
namespace {

using actions::Refused;
using schema::ProblemCode;

struct DenialRow {
  std::string_view code;
  ProblemCode problem;
  redaction::Sentence detail;
};

constexpr std::array kDenials{
    DenialRow{"program_not_found", ProblemCode::INVALID_REQUEST,
              "There is no such program in the system, profile or workspace directories."},
    DenialRow{"program_outside", ProblemCode::SCOPE_VIOLATION,
              "The program lies outside of the system, profile and workspace directories."},
    DenialRow{"interpreter_refused", ProblemCode::SCOPE_VIOLATION,
              "The script's interpreter is no program of the system or profile directories."},
    DenialRow{"program_not_executable", ProblemCode::INVALID_REQUEST, "The program may not be executed."},
    DenialRow{"program_not_regular", ProblemCode::INVALID_REQUEST, "The program is no regular file."},
    DenialRow{"program_unreadable", ProblemCode::INVALID_REQUEST,
              "The program can't be read, so it can't be hashed."},
    DenialRow{"program_busy", ProblemCode::RESOURCE_BUSY,
              "Another program holds a file of the command for writing. Try again when it is done."},
    DenialRow{"program_format", ProblemCode::INVALID_REQUEST,
              "The program is neither a binary nor a script with an interpreter line."},
    DenialRow{"approval_drift", ProblemCode::APPROVAL_DRIFT,
              "The program or a script of it changed while it was about to start."},
    DenialRow{"workspace_refused", ProblemCode::SCOPE_VIOLATION, "The directory may not be a workspace."},
    DenialRow{"workspace_gone", ProblemCode::SCOPE_VIOLATION, "The workspace is not there any more."},
    DenialRow{"sandbox_unavailable", ProblemCode::SANDBOX_UNAVAILABLE, ""},
    DenialRow{"exec_failed", ProblemCode::INVALID_REQUEST, "The kernel refused to execute the program."},
    DenialRow{"pty_unavailable", ProblemCode::PTY_UNAVAILABLE, ""},
};

// As a label; a text that is none is not repeated.
audit::Label named(std::string_view text) {
  return audit::Label::parse(text).value_or(audit::Label::of("unknown"));
}

// Whatever ended the line fails its calls by one and the same exception; the line itself tells why it ended.
kj::Promise<rpc::DisconnectCause> causeOf(StartedWorker& worker, const kj::Exception& exception) {
  using rpc::DisconnectCause;
  if (exception.getType() != kj::Exception::Type::DISCONNECTED) return DisconnectCause::kProtocolViolation;
  // Nor need it have ended: a worker can answer by such an exception. And what we have closed ourselves, over
  // another call, is nothing that this one is judged by.
  auto open = kj::evalLast([]() { return DisconnectCause::kPeerClosed; });
  return worker.line->onDisconnect().exclusiveJoin(kj::mv(open)).then([](DisconnectCause cause) {
    return cause == DisconnectCause::kClosedHere ? DisconnectCause::kPeerClosed : cause;
  });
}

}  // namespace

Refused refusedFor(std::string_view code, std::string_view rule) {
  const auto* row = std::ranges::find_if(kDenials, [&](const DenialRow& each) { return each.code == code; });
  log(Level::kInfo, "session_denied", {{"code", named(code)}, {"rule", named(rule)}});
  if (row == kDenials.end())
    return {
        .code = ProblemCode::INVALID_REQUEST, .detail = "The command can't be run here.", .field = "command"};
  const bool aboutCommand =
      row->problem == ProblemCode::INVALID_REQUEST || row->problem == ProblemCode::SCOPE_VIOLATION;
  return {.code = row->problem,
          .detail = row->detail,
          .field = aboutCommand ? redaction::Literal("command") : redaction::Literal()};
}

Refused lost() {
  return {.code = ProblemCode::SANDBOX_UNAVAILABLE,
          .detail = "The launcher or the supervisor did not answer."};
}

kj::Promise<Refused> whyCallFailed(kj::Timer& timer, StartedWorker& worker, const kj::Exception& exception,
                                   redaction::Literal late) {
  if (rpc::isDeadlineExceeded(exception)) {
    worker.line->close();
    return Refused{.code = ProblemCode::TIMED_OUT, .detail = late};
  }
  return causeOf(worker, exception)
      .then([&timer, process = worker.process](rpc::DisconnectCause cause) mutable {
        return judgeEnd(timer, kj::mv(process), cause);
      })
      .then([](WorkerEnd end) {
        if (end.kind == WorkerEnd::Kind::kMisbehaved) return Refused{.code = ProblemCode::WORKER_MISBEHAVED};
        return lost();
      });
}

}  // namespace factionos::broker
