#include "broker/cli/denial_text.h"

#include <array>

namespace factionos::cli {
namespace {

constexpr std::string_view kCall = "syscall:";

struct Way {
  std::string_view target;  // begins so
  std::string_view sentence;
};

constexpr std::array kWays{
    Way{"workspace:", "Protected in every workspace; make this change yourself, outside of a session."},
    Way{"network:unix", "Sockets of others are in sight on this kernel; no setting allows it."},
    Way{"network:ipv", "Run it with --network loopback or --network full."},
    Way{"network:netlink", "Run it with --network loopback or --network full."},
    Way{"network:", "No network profile has this kind of socket."},
    Way{"own-state", "FactionOS keeps its own files from commands; no setting allows it."},
    Way{"api-port", "FactionOS keeps its own port from commands; no setting allows it."},
    Way{"devices", "Commands have a few devices and their own terminal; no setting allows more."},
    Way{"processes", "Commands see their own processes alone; no setting allows more."},
};

std::string_view wayFor(std::string_view operation, std::string_view target) {
  if (operation.starts_with(kCall)) return "No setting allows this call to a command.";
  for (const Way& way : kWays) {
    if (target.starts_with(way.target)) return way.sentence;
  }
  if (operation == "exec") return "List the directory in config.toml, [profile] program_dirs.";
  if (operation == "connect") return "Sockets that lie outside of the workspace are kept from commands.";
  if (operation == "read" || operation == "enter")
    return "List the directory in config.toml, [profile] readable_dirs.";
  return "Commands write to their workspace and their temporary directory alone.";
}

}  // namespace

std::string denialSentence(std::string_view operation, std::string_view target, std::uint64_t count) {
  if (operation == "further")
    return "denied: more kinds than are told apart, " + std::to_string(count) + " times.";
  std::string text = "denied: ";
  if (operation.starts_with(kCall)) {
    text += "the call " + std::string(operation.substr(kCall.size()));
  } else {
    text += std::string(operation) + " " + std::string(target);
  }
  if (count > 1) text += ", " + std::to_string(count) + " times";
  return text + ". " + std::string(wayFor(operation, target));
}

}  // namespace factionos::cli
