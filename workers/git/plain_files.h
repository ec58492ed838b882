// libgit2 opens what it reads by path and without a look at what it is: a FIFO in the place of a reference, a
// pack or a rule would have it wait for whoever writes to that, and so would a lease that somebody holds. So
// this program's open() is its own (libgit2's calls come here, too), and no list of places is needed.
#pragma once

namespace factionos::git {

// While one lives, open() waits for nobody, in any thread: what is neither a regular file nor a directory is
// not opened (EINVAL; sockets: ENXIO), nor what another process holds by a lease (EWOULDBLOCK), nor an ignore
// file that libgit2 would never get to the end of (EINVAL; ignore_text.h; larger than 16 MiB counts as one).
// One at a time counts: the worker does one thing at once.
class PlainFilesOnly {
 public:
  PlainFilesOnly();
  ~PlainFilesOnly();
  PlainFilesOnly(const PlainFilesOnly&) = delete;
  PlainFilesOnly& operator=(const PlainFilesOnly&) = delete;

  // Throws Refusal "no_plain_file", "endless_ignore_rule" or "locked" where something was not opened since.
  // libgit2 may have gone on as if nothing had been there, so whatever it found is no answer.
  void mustBeAll() const;
};

}  // namespace factionos::git
