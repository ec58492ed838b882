#pragma once

#include <memory>
#include <string>
#include <vector>

#include <kj/async.h>

#include "broker/executors/action_runner.h"
#include "broker/executors/file_request.h"
#include "broker/executors/file_view.h"
#include "broker/executors/scoped_workers.h"
#include "protocol/schemas/api.capnp.h"
#include "protocol/schemas/file.capnp.h"

namespace factionos::broker {

// The family `file`: reads and changes the files of workspaces through one worker for each. Changes are
// guarded actions, whose dry run is the worker's preview; reads are allowed or denied by policy, and what
// hands out contents is on record before it does.
class FileExecutor final : public Reconciler {
 public:
  FileExecutor(Core& core, ActionRunner& runner, Workers& workers, const MaskRules& masks);
  ~FileExecutor() noexcept(false) override;

  template <typename Results>
  using Answer = kj::Promise<Outcome<capnp::Response<Results>>>;
  Answer<schema::FileWorker::StatResults> stat(const Caller& caller, schema::FileStat::Reader request);
  Answer<schema::FileWorker::ListResults> list(const Caller& caller, schema::FileList::Reader request);
  struct KeptPage {
    capnp::Response<schema::FileWorker::KeptResults> response;
    std::vector<unsigned> proven;  // indices of its entries; the rest is nothing that we kept
  };
  kj::Promise<Outcome<KeptPage>> kept(const Caller& caller, schema::FileList::Reader request);
  Answer<schema::FileWorker::ReadResults> read(const Caller& caller, schema::FileRead::Reader request);
  Answer<schema::FileWorker::PreviewResults> diff(const Caller& caller, schema::FileDiff::Reader request);

  // The stored reply is a FileWriteResults, which those of the other three equal field by field.
  kj::Promise<ActionReply> write(const Caller& caller, std::string key, schema::FileWrite::Reader request);
  kj::Promise<ActionReply> edit(const Caller& caller, std::string key, schema::FileEdit::Reader request);
  kj::Promise<ActionReply> remove(const Caller& caller, std::string key, schema::FileDelete::Reader request);
  kj::Promise<ActionReply> restore(const Caller& caller, std::string key,
                                   schema::FileRestore::Reader request);

  kj::Promise<Reconciled> reconcile(const state::ActionRow& action) override;

  const FileView& view() const { return view_; }

 private:
  friend class FileChange;
  template <typename Request>
  kj::Promise<ActionReply> change(const Caller& caller, std::string key, const char* operation,
                                  Request request, std::optional<std::string> expected);
  Reading readingOf(const char* operation, const FileSubject& subject) const;
  // Asks the subject's worker, once policy has said yes. `make`: worker → request to send.
  template <typename Results, typename Make, typename Sound>
  Answer<Results> ask(const Caller& caller, const Reading& reading, const FileSubject& subject, Make make,
                      Sound sound);
  template <typename Results, typename Sound>
  Answer<Results> answered(std::shared_ptr<ScopedWorker> worker, kj::Promise<capnp::Response<Results>> call,
                           Sound sound);
  Answer<schema::FileWorker::PreviewResults> diffOf(const Caller& caller, const Reading& reading,
                                                    const FileSubject& subject,
                                                    kj::Own<capnp::MallocMessageBuilder> change,
                                                    std::uint32_t most);

  // What lies among the kept copies is anybody's who can write the workspace. It is what we kept where the
  // action that it names was one of ours, of this workspace, and found the file like that.
  bool isProven(const FileSubject& subject, std::string_view path, std::string_view action,
                schema::FileState::Reader kept) const;
  std::optional<Refused> unproven(const FileSubject& subject, schema::FilePreview::Reader preview) const;
  // The id of the newest proven copy of the subject's path, of those older than `before` (empty: of all).
  kj::Promise<Outcome<std::string>> newestKept(const FileSubject& subject, std::string before);
  kj::Promise<Found> settle(const home::WorkspaceEntry& workspace, const std::string& action);

  Core& core_;
  ActionRunner& runner_;
  const MaskRules& masks_;
  FileView view_;
  ScopedWorkers workers_;
};

}  // namespace factionos::broker
