#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "workers/git/handles.h"
#include "workers/git/ident.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

void setMemory() {
  git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, 32 * kMiB);
  git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, 512 * kMiB);
  git_libgit2_opts(GIT_OPT_SET_MWINDOW_FILE_LIMIT, std::size_t{64});
  git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, static_cast<ssize_t>(64 * kMiB));
  // A pack index that claims more is refused before it is believed.
  git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECTS, std::size_t{20'000'000});
}

// Of a call of the system's that failed: libgit2 has the error's words behind its own, and sets errno to 0;
// or, of a file that could not be written, it says nothing, and errno is as the call left it.
Refusal refusalOfSystem(const git_error* said, int left) {
  const std::string_view message = said == nullptr ? std::string_view() : std::string_view(said->message);
  const auto is = [message, said, left](int error) {
    return said == nullptr ? left == error : message.ends_with(std::generic_category().message(error));
  };
  if (is(ENOSPC) || is(EDQUOT)) return {"no_space", "file_system"};
  if (is(EIO) || is(EFBIG)) return {"io_failed", "file_system"};
  return repositoryRefused("not_readable");
}

}  // namespace

void startLibrary() {
  if (git_libgit2_init() < 0) throw Refusal{"unavailable", "libgit2"};
  for (const int level : {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
                          GIT_CONFIG_LEVEL_GLOBAL}) {
    git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
  }
  git_libgit2_opts(GIT_OPT_SET_TEMPLATE_PATH, "");
#if LIBGIT2_VER_MAJOR > 1 || LIBGIT2_VER_MINOR >= 6
  git_libgit2_opts(GIT_OPT_SET_HOMEDIR, "");
#endif
  git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1);
  git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 1);
  git_libgit2_opts(GIT_OPT_ENABLE_STRICT_SYMBOLIC_REF_CREATION, 1);
  git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
  git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
  setMemory();
  useOwnIdent();
}

Refusal refusalOf(int error) {
  const int left = errno;
  switch (error) {
    case GIT_ENOTFOUND:
      return {"not_found", "object_or_ref"};
    case GIT_EEXISTS:
      return {"exists", "object_or_ref"};
    case GIT_EAMBIGUOUS:
      return {"not_found", "ambiguous_name"};
    case GIT_ELOCKED:
      return {"locked", "repository_lock"};
    case GIT_EMODIFIED:
      return {"state_moved", "ref_moved"};
    case GIT_EUNBORNBRANCH:
      return {"not_found", "no_commit_yet"};
    case GIT_EINVALIDSPEC:
      return {"invalid", "name"};
    case GIT_EUNMERGED:
      return {"conflicts", "index"};
    default:
      break;
  }
  const git_error* last = git_error_last();
  switch (last == nullptr ? GIT_ERROR_NONE : last->klass) {
    case GIT_ERROR_NONE:
    case GIT_ERROR_OS:
      return refusalOfSystem(last, left);
    case GIT_ERROR_NOMEMORY:
      return {"too_large", "memory"};
    case GIT_ERROR_INDEX:
      return repositoryRefused("index_unreadable");
    case GIT_ERROR_ODB:
    case GIT_ERROR_OBJECT:
    case GIT_ERROR_TREE:
    case GIT_ERROR_ZLIB:
    case GIT_ERROR_INDEXER:
      return repositoryRefused("object_unreadable");
    case GIT_ERROR_REFERENCE:
      return repositoryRefused("reference_unreadable");
    default:
      return repositoryRefused("not_readable");
  }
}

int must(int error) {
  if (error >= 0) return error;
  const Refusal refusal = refusalOf(error);
  git_error_clear();
  throw refusal;
}

}  // namespace factionos::git
