// The rows of the table of guarantees, by what they are about. A row holds for each of its profiles.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/verify/guarantee.h"

namespace factionos::walls {

using sandbox::verify::Feature;
using sandbox::verify::Layer;
using sandbox::verify::Strength;

inline constexpr auto kRequired = Strength::kRequired;
inline constexpr auto kOptional = Strength::kOptional;

struct Row {
  std::string_view id;
  std::vector<std::string_view> profiles;
  std::string_view promise;
  Layer layer;
  Strength strength;
  Feature needs;
  std::vector<std::string_view> forbidden;
};

// In the order of profiles().
inline const std::vector<std::string_view> kAll = {
    "broker",      "launcher",         "front",        "pty",           "file",
    "git-read",    "git-write",        "container",    "probe",         "probe-program",
    "session",     "session-running",  "keeper",       "gofer",         "gofer-plain",
    "command",     "command-loopback", "command-full", "command-plain", "command-full-plain",
    "audit-reader"};
inline const std::vector<std::string_view> kListed = {
    "broker",    "front",           "pty",    "file",  "git-read",    "git-write",
    "container", "session-running", "keeper", "gofer", "gofer-plain", "audit-reader"};  // allow by list
inline const std::vector<std::string_view> kGofers = {"gofer", "gofer-plain"};
inline const std::vector<std::string_view> kTrusted = {"launcher",
                                                       "session"};  // deny by list, above the commands
inline const std::vector<std::string_view> kCommands = {"command", "command-loopback", "command-full",
                                                        "command-plain", "command-full-plain"};
inline const std::vector<std::string_view> kSpacious = {"command", "command-loopback", "command-full"};
inline const std::vector<std::string_view> kPlain = {"command-plain", "command-full-plain"};

// Calls denied by the list of a command without a namespace.
inline const std::vector<std::string_view> kProbes = {"probe", "probe-program"};

inline const std::vector<std::string_view> kOurs = {
    "broker", "launcher", "front",           "pty",    "file",  "git-read",    "git-write",   "container",
    "probe",  "session",  "session-running", "keeper", "gofer", "gofer-plain", "audit-reader"};

inline std::vector<std::string_view> both(std::vector<std::string_view> some,
                                          const std::vector<std::string_view>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

std::vector<Row> fileRows();
std::vector<Row> processRows();
std::vector<Row> socketRows();
std::vector<Row> callRows();
std::vector<Row> resourceRows();

}  // namespace factionos::walls
