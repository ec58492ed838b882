#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace factionos::redaction {

// A text that a human must judge (a command, a name) as one line of what it really holds: control, bidi,
// zero-width and other invisible code points as `\n`, `\x1b`, `\u{202e}`; spaces that are not U+0020
// likewise; bytes that are not UTF-8 as `\x9b`; a backslash as `\\`, so that no escape can be imitated; more
// than eight spaces in a row as
// `\s{N}`, so that nothing is pushed out of sight.
//
// The line begins with the length, where the text can't imitate it: `[12 bytes] ` or, if the visible form
// would be longer than `maxBytes`, `[4096 bytes, last 3000 hidden] `. The result has at most maxBytes + 64
// bytes. The exact bytes are the caller's to keep: this form is for eyes.
[[nodiscard]] std::string makeVisible(std::string_view text, std::size_t maxBytes);

}  // namespace factionos::redaction
