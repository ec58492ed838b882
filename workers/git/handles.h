// Owners of libgit2's objects, and its errors as refusals.
#pragma once

#include <memory>

#include <git2.h>

#include "workers/git/refusal.h"

namespace factionos::git {

template <typename T, void (*release)(T*)>
struct Release {
  void operator()(T* object) const noexcept { release(object); }
};
template <typename T, void (*release)(T*)>
using Handle = std::unique_ptr<T, Release<T, release>>;

using Repository = Handle<git_repository, git_repository_free>;
using Config = Handle<git_config, git_config_free>;
using Index = Handle<git_index, git_index_free>;
using Odb = Handle<git_odb, git_odb_free>;
using OdbObject = Handle<git_odb_object, git_odb_object_free>;
using Reference = Handle<git_reference, git_reference_free>;
using ReferenceIterator = Handle<git_reference_iterator, git_reference_iterator_free>;
using Object = Handle<git_object, git_object_free>;
using Commit = Handle<git_commit, git_commit_free>;
using Tree = Handle<git_tree, git_tree_free>;
using TreeBuilder = Handle<git_treebuilder, git_treebuilder_free>;
using Blob = Handle<git_blob, git_blob_free>;
using Diff = Handle<git_diff, git_diff_free>;
using Patch = Handle<git_patch, git_patch_free>;
using Revwalk = Handle<git_revwalk, git_revwalk_free>;
using Signature = Handle<git_signature, git_signature_free>;
using FilterList = Handle<git_filter_list, git_filter_list_free>;
using PackBuilder = Handle<git_packbuilder, git_packbuilder_free>;

// Releases what libgit2 wrote into it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { git_buf_dispose(&buffer_); }

  [[nodiscard]] git_buf* out() { return &buffer_; }
  [[nodiscard]] const char* data() const { return buffer_.ptr == nullptr ? "" : buffer_.ptr; }
  [[nodiscard]] std::size_t size() const { return buffer_.size; }

 private:
  git_buf buffer_ = GIT_BUF_INIT;
};

// What libgit2's answer means, by code and class; its text, which holds paths, tells no more than which of
// the system's errors it ends with.
Refusal refusalOf(int error);

// Throws refusalOf(error) where it is one. Gives back what is not negative.
int must(int error);

// must(call(&raw, arguments…)) as an owner.
template <typename Owner, typename Call, typename... Arguments>
Owner make(Call call, Arguments... arguments) {
  typename Owner::pointer raw = nullptr;
  must(call(&raw, arguments...));
  return Owner(raw);
}

// The same where "there is none" is an answer: null.
template <typename Owner, typename Call, typename... Arguments>
Owner find(Call call, Arguments... arguments) {
  typename Owner::pointer raw = nullptr;
  const int error = call(&raw, arguments...);
  if (error == GIT_ENOTFOUND || error == GIT_EUNBORNBRANCH) return Owner();
  must(error);
  return Owner(raw);
}

// Once for a process, before its sandbox: empties every place that libgit2 would read configuration or
// templates from, and bounds its memory.
void startLibrary();

}  // namespace factionos::git
