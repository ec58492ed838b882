// The methods of the family file: between schema and executor.
#include <sodium.h>

#include "broker/api/answers.h"
#include "broker/api/api_service.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::reply;
using redaction::Boundary;
using Redactor = redaction::Redactor<Boundary::kApiResponse>;

template <typename Results>
using Found = Outcome<capnp::Response<Results>>;

}  // namespace

kj::Promise<void> ApiService::fileStat(FileStatContext context) {
  using Results = schema::FileWorker::StatResults;
  return services_.files.stat(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        services_.files.view().fillFacts(
            std::get<capnp::Response<Results>>(found).getState(),
            reply<Boundary::kApiResponse>(context).init(&ResultsOf<FileStatContext>::initFile));
      });
}

kj::Promise<void> ApiService::fileList(FileListContext context) {
  using R = ResultsOf<FileListContext>;
  const auto& files = services_.files.view();
  const auto request = context.getParams().getRequest();
  if (request.getKept()) {
    using Page = FileExecutor::KeptPage;
    return services_.files.kept(caller_, request).then([&files, context](Outcome<Page>&& found) mutable {
      if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
      const auto& [response, proven] = std::get<Page>(found);
      const auto entries = response.getEntries();
      const auto count = static_cast<unsigned>(proven.size());
      auto results = reply<Boundary::kApiResponse>(context);
      auto list = results.init(&R::initEntries, count);
      for (unsigned i = 0; i < count; ++i) files.fillKept(entries[proven[i]], list[i]);
      results.set(&R::setTotalBytes, response.getTotalBytes());
      results.set(&R::setSkipped, response.getSkipped() + entries.size() - count);
      if (response.getMore() && entries.size() > 0)
        results.set(&R::setNext,
                    Redactor::label(audit::Label::of(view(entries[entries.size() - 1].getAction()))));
    });
  }
  using Results = schema::FileWorker::ListResults;
  return services_.files.list(caller_, request).then([&files, context](Found<Results>&& found) mutable {
    if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
    const auto& response = std::get<capnp::Response<Results>>(found);
    const auto entries = response.getEntries();
    auto results = reply<Boundary::kApiResponse>(context);
    auto list = results.init(&R::initEntries, entries.size());
    for (unsigned i = 0; i < entries.size(); ++i) files.fillEntry(entries[i], list[i]);
    if (response.getMore() && entries.size() > 0)
      files.fillNext(entries[entries.size() - 1].getName(), results, &R::setNext);
  });
}

kj::Promise<void> ApiService::fileRead(FileReadContext context) {
  using Results = schema::FileWorker::ReadResults;
  using R = ResultsOf<FileReadContext>;
  return services_.files.read(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        const auto& response = std::get<capnp::Response<Results>>(found);
        const auto request = context.getParams().getRequest();
        const auto& files = services_.files.view();
        auto results = reply<Boundary::kApiResponse>(context);
        files.fillFacts(response.getState(), results.init(&R::initFile));
        files.fillContent(response.getContent(), request, response.getState().getSize(),
                          results.init(&R::initContent));
      });
}

kj::Promise<void> ApiService::fileDiff(FileDiffContext context) {
  using Results = schema::FileWorker::PreviewResults;
  return services_.files.diff(caller_, context.getParams().getRequest())
      .then([this, context](Found<Results>&& found) mutable {
        if (const auto* refused = refusedIn(found)) return refuse(context, *refused);
        const bool detail = context.getParams().getRequest().getDetail();
        services_.files.view().fillChanges(
            std::get<capnp::Response<Results>>(found).getPreview(),
            detail ? FileView::Lines::kShown : FileView::Lines::kCounted,
            reply<Boundary::kApiResponse>(context).init(&ResultsOf<FileDiffContext>::initChanges));
      });
}

kj::Promise<void> ApiService::fileWrite(FileWriteContext context) {
  const auto params = context.getParams();
  return services_.files.write(caller_, params.getCall().getIdempotencyKey().cStr(), params.getRequest())
      .then([this, context](ActionReply&& outcome) mutable { answerAction(context, kj::mv(outcome)); });
}

kj::Promise<void> ApiService::fileEdit(FileEditContext context) {
  const auto params = context.getParams();
  return services_.files.edit(caller_, params.getCall().getIdempotencyKey().cStr(), params.getRequest())
      .then([this, context](ActionReply&& outcome) mutable { answerAction(context, kj::mv(outcome)); });
}

kj::Promise<void> ApiService::fileDelete(FileDeleteContext context) {
  const auto params = context.getParams();
  return services_.files.remove(caller_, params.getCall().getIdempotencyKey().cStr(), params.getRequest())
      .then([this, context](ActionReply&& outcome) mutable { answerAction(context, kj::mv(outcome)); });
}

kj::Promise<void> ApiService::fileRestore(FileRestoreContext context) {
  const auto params = context.getParams();
  return services_.files.restore(caller_, params.getCall().getIdempotencyKey().cStr(), params.getRequest())
      .then([this, context](ActionReply&& outcome) mutable { answerAction(context, kj::mv(outcome)); });
}

}  // namespace factionos::broker
