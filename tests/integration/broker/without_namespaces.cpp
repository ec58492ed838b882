// Executes its arguments on a kernel that has no user namespaces for them: a filter answers EPERM, as a
// container or a hardened machine does.
#include <cerrno>

#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argumentCount, char** arguments) {
  if (argumentCount < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 125;
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  const scmp_arg_cmp newUser = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER);
  // clone3 has its flags in memory, where no filter looks; libraries go on with clone.
  // Foreign entries are the product's own to refuse.
  if (seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW) != 0 ||
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1, newUser) != 0 ||
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, newUser) != 0 ||
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) != 0 || seccomp_load(filter) != 0)
    return 125;
  execvp(arguments[1], arguments + 1);
  return 127;
}
