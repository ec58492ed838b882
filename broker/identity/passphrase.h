#pragma once

#include <string>

#include "broker/identity/secret.h"

namespace factionos::identity {

enum class Confirm : std::uint8_t { kNo, kTwice };

// Asks on the controlling terminal (/dev/tty, never standard input, so that no pipe can answer), echo off.
// kRefused without a terminal, when the operator cancels (Ctrl-C, Ctrl-D), or when the second entry differs.
Result<SecretBytes> askPassphrase(const std::string& prompt, Confirm confirm);

// The same on a terminal that is open already.
Result<SecretBytes> askPassphraseOn(int terminal, const std::string& prompt, Confirm confirm);

// `--passphrase-file F`: the first line of a file of this uid (or root's) that nobody else may read, or of a
// pipe.
Result<SecretBytes> readPassphraseFile(const std::string& path);

}  // namespace factionos::identity
