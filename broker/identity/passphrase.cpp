#include "broker/identity/passphrase.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "broker/identity/key_file.h"
#include "broker/identity/operator_key.h"
#include "sandbox/descriptors.h"

namespace factionos::identity {
namespace {

constexpr char kCtrlC = 0x03;
constexpr char kCtrlD = 0x04;
constexpr char kCtrlU = 0x15;
constexpr char kBackspace = 0x08;
constexpr char kDelete = 0x7f;

// No echo, no line editing and no signals by the kernel while it lives: a Ctrl-C that killed us would leave
// the operator's terminal without echo.
class QuietTerminal {
 public:
  explicit QuietTerminal(int terminal) : terminal_(terminal) {
    if (::tcgetattr(terminal, &before_) != 0) return;
    struct termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    active_ = ::tcsetattr(terminal, TCSAFLUSH, &quiet) == 0;
  }
  ~QuietTerminal() {
    if (active_) ::tcsetattr(terminal_, TCSAFLUSH, &before_);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;
  bool active() const { return active_; }

 private:
  int terminal_;
  struct termios before_ {};
  bool active_ = false;
};

void say(int terminal, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(terminal, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the terminal is gone; the read that follows says so
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

Problem cancelled() {
  return {ProblemCode::kRefused, "no passphrase was given", {}};
}

std::optional<char> readKey(int terminal) {
  char key = 0;
  while (true) {
    const ssize_t got = ::read(terminal, &key, 1);
    if (got == 1) return key;
    if (got == 0 || errno != EINTR) return std::nullopt;
  }
}

Result<SecretBytes> readLine(int terminal) {
  SecretBytes line(kMaxPassphraseBytes);
  std::size_t size = 0;
  while (true) {
    const auto key = readKey(terminal);
    if (!key || *key == kCtrlC || (*key == kCtrlD && size == 0)) return cancelled();
    if (*key == '\n' || *key == '\r') break;
    if (*key == kBackspace || *key == kDelete) {
      if (size > 0) --size;
    } else if (*key == kCtrlU) {
      size = 0;
    } else if (size == line.size()) {
      return Problem{ProblemCode::kInvalid, "the passphrase is longer than 1024 bytes",
                     "choose a shorter one"};
    } else {
      line.data()[size++] = static_cast<std::uint8_t>(*key);
    }
  }
  line.shrink(size);
  return line;
}

Result<SecretBytes> askOnce(int terminal, const std::string& prompt) {
  say(terminal, prompt + ": ");
  auto line = readLine(terminal);
  say(terminal, "\r\n");
  return line;
}

// A regular file must be ours or root's and closed to everybody else. A pipe is the shell's own doing
// (process substitution) and belongs to whoever made it.
Status judgeSecretFile(const struct stat& status) {
  if (S_ISFIFO(status.st_mode)) return {};
  if (!S_ISREG(status.st_mode)) {
    return Problem{ProblemCode::kUnsafe, "the given file is not a regular file", "give a file or a pipe"};
  }
  const bool ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  if (!ours || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Problem{ProblemCode::kUnsafe, "the given file may be read or changed by other users",
                   "run: chmod 600 on it"};
  }
  return {};
}

Result<SecretBytes> readSecretFile(const std::string& path, std::size_t maxBytes) {
  sandbox::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    const ProblemCode code = errno == ENOENT ? ProblemCode::kNotFound : ProblemCode::kIo;
    return Problem{code, "the given file can't be opened", "give the path of a file that this user may read"};
  }
  if (Status safe = judgeSecretFile(status); !safe) return safe.problem();
  SecretBytes contents(maxBytes + 1);
  std::size_t size = 0;
  while (size < contents.size()) {
    const ssize_t got = ::read(file.get(), contents.data() + size, contents.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Problem{ProblemCode::kIo, "the given file can't be read", {}};
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > maxBytes) return Problem{ProblemCode::kInvalid, "the given file is too long", {}};
  contents.shrink(size);
  return contents;
}

}  // namespace

Result<SecretBytes> askPassphraseOn(int terminal, const std::string& prompt, Confirm confirm) {
  const QuietTerminal quiet(terminal);
  if (!quiet.active()) {
    return Problem{ProblemCode::kRefused, "there is no terminal to ask for the passphrase on",
                   "run this on a terminal, or give --passphrase-file"};
  }
  auto first = askOnce(terminal, prompt);
  if (!first || confirm == Confirm::kNo) return first;
  auto second = askOnce(terminal, "Again");
  if (!second) return second;
  if (!equalInConstantTime(first->span(), second->span())) {
    return Problem{ProblemCode::kRefused, "the two entries differ", "try again"};
  }
  return first;
}

Result<SecretBytes> askPassphrase(const std::string& prompt, Confirm confirm) {
  const sandbox::Fd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  return askPassphraseOn(terminal.get(), prompt, confirm);
}

Result<SecretBytes> readPassphraseFile(const std::string& path) {
  auto contents = readSecretFile(path, kMaxPassphraseBytes + 2);
  if (!contents) return contents;
  const std::string_view text = contents->text();
  std::size_t end = std::min(text.find('\n'), text.size());
  if (end > 0 && end < text.size() && text[end - 1] == '\r') --end;
  if (end == 0)
    return Problem{ProblemCode::kInvalid, "the passphrase file is empty",
                   "write the passphrase on its first line"};
  contents->shrink(end);
  return contents;
}

Result<SecretBytes> readKeyFile(const std::string& path) {
  return readSecretFile(path, kMaxKeyFileBytes);
}

}  // namespace factionos::identity
