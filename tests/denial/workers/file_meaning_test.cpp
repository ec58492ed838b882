// What the gofer does for a caller means what it would mean if the kernel did it: one list of acts, inside
// and outside, answer for answer.
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "box.h"

namespace factionos::test {
namespace {

class FileMeaning : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, FileMeaning, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

constexpr const char* kActs = R"python(
import errno, fcntl, os, stat, sys, threading, tempfile
os.chdir(sys.argv[1])
def name(e): return errno.errorcode.get(e, str(e))
def act(what, call, *args, **more):
    try:
        got = call(*args, **more)
        if what.startswith('fd'):
            flags = fcntl.fcntl(got, fcntl.F_GETFL) & ~0o100000
            print(what, 'ok', oct(flags), fcntl.fcntl(got, fcntl.F_GETFD), oct(os.fstat(got).st_mode))
            os.close(got)
        else: print(what, 'ok', got)
    except OSError as e: print(what, name(e.errno))
O = os
C, W, RW, X, T, N, D, A = O.O_CREAT, O.O_WRONLY, O.O_RDWR, O.O_EXCL, O.O_TRUNC, O.O_NOFOLLOW, O.O_DIRECTORY, O.O_APPEND
open('file', 'w').write('content'); os.mkdir('dir'); os.mkdir('dir/in')
os.symlink('nowhere', 'dangling'); os.symlink('file', 'link'); os.symlink('dir', 'dirlink'); os.symlink('loop', 'loop')
os.symlink(os.getcwd() + '/dir/absolute', 'absolute')
for mode in (0o666, 0o600, 0o777, 0o444):
    act('fd new', os.open, 'new%o' % mode, C | W, mode)
for flags in (C | W, C | RW, C | W | X, C | W | T, C | W | A, C, C | X, C | W | N, C | W | D, W, RW, W | T, C | W | O.O_NONBLOCK, C | W | O.O_SYNC,
              C | W | O.O_CLOEXEC, O.O_PATH | C, 3, 3 | C):
    for path in ('file', 'dir', 'dir/', 'file/', 'link', 'dirlink', 'dirlink/', 'loop', 'missing/x', 'file/x', '.', '..', '/', '', './file', 'dir/../file',
                 'dirlink/in/../new', 'x' * 255, 'x' * 256, 'd/' * 2100 + 'x'):
        act('fd %o %s' % (flags, path[:20]), os.open, path, flags, 0o640)
    act('fd dangling %o' % flags, os.open, 'dangling', flags, 0o640)
    print(os.path.lexists('nowhere'), os.path.lexists('dir/new'))
    for path in ('nowhere', 'dir/new', 'x' * 255):
        try: os.unlink(path)
        except OSError: pass
act('fd absolute', os.open, 'absolute', C | W, 0o640)
act('fd closed dirfd', os.open, 'x', C | W, 0o640, dir_fd=999)
f = os.open('file', os.O_RDONLY); d = os.open('dir', os.O_RDONLY); p = os.open('dir', os.O_PATH)
act('fd file dirfd', os.open, 'x', C | W, 0o640, dir_fd=f)
act('fd dirfd', os.open, 'by', C | W, 0o640, dir_fd=d)
act('fd path dirfd', os.open, 'by2', C | W, 0o640, dir_fd=p)
act('fd proc', os.open, '/proc/self/fd/%d' % f, W)
act('fd proc trunc', os.open, '/dev/fd/%d' % f, W | C | T)
act('fd proc excl', os.open, '/dev/fd/%d' % f, W | C | X)
act('fd proc cwd', os.open, '/proc/self/cwd/viacwd', W | C, 0o600)
act('fd thread-self', os.open, '/proc/thread-self/cwd/viathread', W | C, 0o600)
act('fd proc dir', os.open, '/proc/self/fd/%d/below' % d, W | C, 0o600)
act('fd null', os.open, '/dev/null', W | C | T)
act('fd unnamed', os.open, 'dir', os.O_TMPFILE | RW, 0o600)
for mask in (0, 0o77, 0o27):
    old = os.umask(mask); print('mask', oct(old))
    act('fd masked', os.open, 'masked%o' % mask, C | W, 0o666)
    act('mkdir masked', os.mkdir, 'maskeddir%o' % mask, 0o777); print(oct(os.stat('maskeddir%o' % mask).st_mode))
    def inThread():
        act('fd thread', os.open, 'threaded%o' % mask, C | W, 0o666)
    t = threading.Thread(target=inThread); t.start(); t.join()
    if os.fork() == 0:
        act('fd child', os.open, 'child%o' % mask, C | W, 0o666); sys.stdout.flush(); os._exit(0)
    os.wait()
    sys.stdout.flush()
os.umask(0o22)
for path in ('made', 'made', 'made/', 'slash/', 'dangling', 'dangling/', 'link', 'dirlink', '.', '..', '/', '', 'missing/x', 'file/x', 'dir/.', 'dir/..', 'y' * 256):
    act('mkdir ' + path[:10], os.mkdir, path, 0o755)
for path in ('fifo', 'fifo', 'file', 'link', 'missing/x', '', 'fifo/'):
    act('mkfifo ' + path, os.mkfifo, path, 0o644)
act('mknod', os.mknod, 'regular', stat.S_IFREG | 0o600)
for a, b in (('t', 'sym'), ('t', 'sym'), ('', 'sym2'), ('t', ''), ('t', 'sym3/'), ('t', 'missing/x'), ('z' * 4095, 'long'), ('z' * 4096, 'long2')):
    act('symlink %s %s' % (a[:5], b), os.symlink, a, b)
for a, b in (('file', 'hard'), ('file', 'hard'), ('missing', 'h'), ('dir', 'hdir'), ('link', 'hlink'), ('file', 'missing/x'), ('file/', 'h2'), ('file', 'h3/'), ('dirlink/', 'h4')):
    act('link %s %s' % (a, b), os.link, a, b, follow_symlinks=False)
    act('link follow %s %s' % (a, b), os.link, a, b + '-f', follow_symlinks=True)
print(os.path.islink('hlink'), os.path.islink('hlink-f'))
u = os.open('.', os.O_TMPFILE | RW, 0o600)
act('link unnamed', os.link, '/proc/self/fd/%d' % u, 'named', follow_symlinks=True)
os.close(u)
os.mkdir('full'); open('full/x', 'w').close(); os.mkdir('empty')
for a, b in (('hard', 'renamed'), ('hard', 'r'), ('renamed', 'dir'), ('dir', 'renamed'), ('empty', 'full'), ('full', 'empty'), ('link', 'link2'), ('dir', 'dir/in/x'),
             ('.', 'x'), ('dir/.', 'x'), ('dir/..', 'x'), ('empty/', 'empty2/'), ('renamed/', 'r'), ('renamed', 'r/'), ('missing', 'x'), ('', 'x'), ('renamed', ''), ('renamed', 'renamed')):
    act('rename %s %s' % (a, b), os.rename, a, b)
for path in ('dir', 'full', '.', 'empty2/.', 'empty2/', 'missing', 'renamed', 'link2'):
    act('rmdir ' + path, os.rmdir, path)
for path in ('dir', 'renamed/', 'link2', 'missing', '.', '', 'renamed'):
    act('unlink ' + path, os.unlink, path)
for path in ('file', 'dir', 'link2', 'missing', 'loop', 'fifo', ''):
    act('truncate ' + path, os.truncate, path, 3)
print(open('file').read())
if os.fork() == 0:
    open('fifo').read(); os._exit(7)
act('fd fifo', os.open, 'fifo', W | C); print(os.wait()[1])
act('fd fifo nonblock', os.open, 'fifo', W | os.O_NONBLOCK)
act('fd fifo both', os.open, 'fifo', RW)
act('mknod socket', os.mknod, 'socket', stat.S_IFSOCK | 0o600)
for flags in (W, W | C | T, W | N, W | os.O_NONBLOCK, C, RW): act('fd socket %o' % flags, os.open, 'socket', flags)
o = os.open('socket', os.O_PATH)
act('fd proc socket', os.open, '/proc/self/fd/%d' % o, W | C)
os.close(o)
with tempfile.TemporaryFile() as t: t.write(b'x')
with tempfile.NamedTemporaryFile(dir='.') as t: t.write(b'x')
with tempfile.TemporaryDirectory() as t: open(t + '/x', 'w').close()
os.chmod('dir', 0o500)
act('fd denied', os.open, 'dir/denied', C | W, 0o600); act('mkdir denied', os.mkdir, 'dir/denied2'); act('rename denied', os.rename, 'file', 'dir/file')
os.chmod('dir', 0o700)
print(sorted(x for x in os.listdir('.') if not x.startswith('z')), sorted(os.listdir('dir')))
import socket, resource
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
L = 1 << 20
resource.setrlimit(resource.RLIMIT_FSIZE, (L, limits[1]))
open('sized', 'w').write('1234')
for size in (L, L + 1, 3, L, 1 << 40): act('truncate to %d' % size, os.truncate, 'sized', size); print(os.stat('sized').st_size)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
act('truncate again', os.truncate, 'sized', L + 1)
resource.setrlimit(resource.RLIMIT_NOFILE, (3 + len(os.listdir('/proc/self/fd')) , 4096))
held = []
try:
    while True: held.append(os.open('file', W | C))
except OSError as e: print('held', name(e.errno))
)python";

TEST_P(FileMeaning, TheGoferDoesWhatTheKernelDoes) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Box box(GetParam());
  box.world().write(box.world().workspace + "/acts.py", kActs);
  box.world().write(box.world().outside + "/acts.py", kActs);
  std::filesystem::create_directory(box.world().workspace + "/at");
  std::filesystem::create_directory(box.world().outside + "/at");
  // Of the same length, so that what is too long for one is too long for the other.
  const std::string line = "/usr/bin/python3 -u acts.py at > answers 2>&1; cat answers | tail -n 3";
  const Result result = box.broker.run(shell(line, GetParam()));
  const std::string outside = "cd " + box.world().outside + " && umask 022 && " + line;
  ASSERT_EQ(system(outside.c_str()), 0);
  const std::string expected = World::read(box.world().outside + "/answers");
  EXPECT_NE(expected.find("held EMFILE"), std::string::npos) << expected;
  EXPECT_EQ(World::read(box.world().workspace + "/answers"), expected) << result.output;
}

// O_CREAT has the gofer open it. Who comes second is asleep in its open() by then, as far as /proc can tell.
constexpr const char* kFifo = R"python(
import os, signal, sys
os.chdir(sys.argv[1])
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.alarm(120)
os.mkfifo('line')
def write(kind, go):
    line = os.open('line', os.O_WRONLY)
    if kind == 'silent': os.read(go, 1)
    if kind != 'leaves': os.write(line, b'x')
    os.close(line)
def read(go):
    line = os.open('line', os.O_RDONLY | os.O_CREAT)
    os.write(go, b'g')
    got = b''
    while part := os.read(line, 9): got += part
    os.close(line)
    return got
def asleep(pid):
    while open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()[0] not in 'SDZ': pass
def round(kind, first):
    go, told = os.pipe()
    answer, answers = os.pipe()
    readers = first == 'reader'
    child = os.fork()
    if child == 0:
        try: os.write(answers, read(told)) if readers else write(kind, go)
        except OSError as e: print(e, flush=True)
        finally: os._exit(0)
    asleep(child)
    got = write(kind, go) if readers else read(told)
    status = os.waitpid(child, 0)[1]
    os.close(answers)
    if readers: got = os.read(answer, 9)
    for end in (go, told, answer): os.close(end)
    return got, status
for kind in ('writes', 'leaves', 'silent'):
    for first in ('writer', 'reader'):
        print(kind, first, sorted({round(kind, first) for i in range(40)}), flush=True)
)python";

TEST_P(FileMeaning, AReaderOfAFifoAndItsWriterMeetWhoeverComesFirst) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Box box(GetParam());
  box.world().write(box.world().workspace + "/fifo.py", kFifo);
  const Result result = box.broker.run(shell("python3 fifo.py . > answers 2>&1; cat answers", GetParam()));
  const std::string outside =
      "cd " + box.world().outside + " && python3 " + box.world().workspace + "/fifo.py . > answers 2>&1";
  ASSERT_EQ(system(outside.c_str()), 0);
  const std::string expected = World::read(box.world().outside + "/answers");
  EXPECT_NE(expected.find("silent reader [(b'x', 0)]"), std::string::npos) << expected;
  EXPECT_EQ(World::read(box.world().workspace + "/answers"), expected) << result.output;
}

// Whoever carries a call out has the caller's limits, and must not die of them. (Python ignores SIGXFSZ.)
TEST_P(FileMeaning, AFileBeyondTheLimitIsTheCallersErrorAlone) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Box box(GetParam());
  box.world().write(box.world().workspace + "/file", "content");
  const Result result = box.broker.run(shell(
      "python3 -c 'import errno, os, resource, signal\n"
      "limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]\n"
      "try: print(os.truncate(\"file\", limit + 1))\n"
      "except OSError as e: print(errno.errorcode[e.errno])\n"
      "os.mkdir(\"after\")\n"
      "print(os.stat(\"file\").st_size)'; "
      // What a program is born with stays as usual: bits of signals that are ignored, SIGXFSZ is 1 << 24.
      "grep SigIgn /proc/self/status",
      GetParam()));
  EXPECT_EQ(result.reason, schema::EndReason::EXITED);
  EXPECT_EQ(result.output, "EFBIG\r\n7\r\nSigIgn:\t0000000000000000\r\n");
}

}  // namespace
}  // namespace factionos::test
