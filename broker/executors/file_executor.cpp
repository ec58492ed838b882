#include "broker/executors/file_executor.h"

#include <utility>

#include "broker/executors/file_change.h"
#include "protocol/json/canonical.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using schema::ProblemCode;

// Hashing 256 MiB on a slow disk.
constexpr auto kReadLimit = 30 * kj::SECONDS;
constexpr std::uint32_t kShownDiff = 256 * 1024;
constexpr std::uint16_t kKeptPage = 256;

capnp::Data::Reader dataOf(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

std::string_view text(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

Reconciler::Found foundFrom(schema::Settled settled) {
  switch (settled) {
    case schema::Settled::HAPPENED:
      return Reconciler::Found::kHappened;
    case schema::Settled::DID_NOT_HAPPEN:
      return Reconciler::Found::kDidNotHappen;
    default:
      return Reconciler::Found::kCantTell;
  }
}

template <typename Request>
std::optional<std::string> expectedBy(Request request) {
  if (!request.hasExpectedDigest()) return std::nullopt;
  return std::string(view(request.getExpectedDigest()));
}

template <typename List>
bool areSound(List entries, std::uint32_t most) {
  if (entries.size() > most) return false;
  for (const auto entry : entries) {
    if (!isSound(entry)) return false;
  }
  return true;
}

// `reply`, once the audit has it that its content is handed out.
template <typename Reply>
kj::Promise<Reply> recorded(ActionRunner& runner, const Caller& caller, const Reading& reading,
                            std::uint64_t bytes, Reply reply) {
  return runner.recordRead(caller, reading, bytes)
      .then([reply = kj::mv(reply)](std::optional<Refused>&& refused) mutable -> Reply {
        if (refused) return std::move(*refused);
        return kj::mv(reply);
      });
}

}  // namespace

FileExecutor::FileExecutor(Core& core, ActionRunner& runner, Workers& workers, const MaskRules& masks)
    : core_(core),
      runner_(runner),
      masks_(masks),
      view_(core.keys, masks),
      workers_(core, workers, schema::Role::FILE, "file") {}

FileExecutor::~FileExecutor() noexcept(false) = default;

Reading FileExecutor::readingOf(const char* operation, const FileSubject& subject) const {
  const auto* row = policy::findOperation(policy::Family::kFile, operation);
  return {.operation = *row,
          .subject = {.family = policy::Family::kFile,
                      .operation = operation,
                      .workspace = subject.workspace->name,
                      .principal = {},
                      .program = policy::Program::none(),
                      .network = "none",
                      .profile = "default"},
          .target = subject.label()};
}

template <typename Results, typename Make, typename Sound>
FileExecutor::Answer<Results> FileExecutor::ask(const Caller& caller, const Reading& reading,
                                                const FileSubject& subject, Make make, Sound sound) {
  using Reply = Outcome<capnp::Response<Results>>;
  return runner_.mayRead(caller, reading)
      .then([this, workspace = subject.workspace, make = kj::mv(make),
             sound](std::optional<Refused>&& blocked) mutable -> kj::Promise<Reply> {
        if (blocked) return Reply(std::move(*blocked));
        return readAgainIfLost([this, workspace, make = kj::mv(make), sound]() mutable {
          return workers_.take(*workspace)
              .then(
                  [this, &make, sound](Outcome<std::shared_ptr<ScopedWorker>>&& taken) -> kj::Promise<Reply> {
                    if (auto* refused = std::get_if<Refused>(&taken)) return Reply(std::move(*refused));
                    auto worker = std::get<std::shared_ptr<ScopedWorker>>(std::move(taken));
                    auto call = make(worker->as<schema::FileWorker>());
                    return answered<Results>(std::move(worker),
                                             kj::Promise<capnp::Response<Results>>(call.send()), sound);
                  });
        });
      });
}

template <typename Results, typename Sound>
FileExecutor::Answer<Results> FileExecutor::answered(std::shared_ptr<ScopedWorker> worker,
                                                     kj::Promise<capnp::Response<Results>> call,
                                                     Sound sound) {
  using Reply = Outcome<capnp::Response<Results>>;
  return rpc::withDeadline(core_.timer, kReadLimit, kj::mv(call))
      .then(
          [this, worker, sound](capnp::Response<Results>&& response) -> kj::Promise<Reply> {
            if (response.hasDenial()) return Reply(fileDenied(response.getDenial()));
            if (!sound(response)) return Reply(workers_.misbehaved(worker, "reply"));
            return Reply(kj::mv(response));
          },
          [this, worker](kj::Exception&& exception) {
            return workers_.whyLost(worker, exception).then([](Refused&& refused) {
              return Reply(std::move(refused));
            });
          });
}

FileExecutor::Answer<schema::FileWorker::StatResults> FileExecutor::stat(const Caller& caller,
                                                                         schema::FileStat::Reader request) {
  auto subject = fileSubject(core_.config, request);
  using Reply = Outcome<capnp::Response<schema::FileWorker::StatResults>>;
  if (auto* refused = std::get_if<Refused>(&subject)) return Reply(std::move(*refused));
  const auto& found = std::get<FileSubject>(subject);
  return ask<schema::FileWorker::StatResults>(
      caller, readingOf("stat", found), found,
      [path = found.path](schema::FileWorker::Client worker) {
        auto call = worker.statRequest();
        call.setPath(dataOf(path));
        return call;
      },
      [](const auto& response) { return response.hasState() && isSound(response.getState()); });
}

FileExecutor::Answer<schema::FileWorker::ListResults> FileExecutor::list(const Caller& caller,
                                                                         schema::FileList::Reader request) {
  auto subject = fileSubject(core_.config, request, WholeWorkspace::kAllowed);
  using Reply = Outcome<capnp::Response<schema::FileWorker::ListResults>>;
  if (auto* refused = std::get_if<Refused>(&subject)) return Reply(std::move(*refused));
  auto after = fromBase64(request.getAfter());
  if (!after)
    return Reply(Refused{.code = ProblemCode::INVALID_REQUEST,
                         .detail = "This is no page that a reply named.",
                         .field = "after"});
  const auto& found = std::get<FileSubject>(subject);
  const auto limit = request.getLimit();
  return ask<schema::FileWorker::ListResults>(
      caller, readingOf("list", found), found,
      [path = found.path, after = *after, limit](schema::FileWorker::Client worker) {
        auto call = worker.listRequest();
        call.setPath(dataOf(path));
        call.setAfter(dataOf(after));
        call.setLimit(limit);
        return call;
      },
      [limit](const auto& response) { return areSound(response.getEntries(), limit); });
}

kj::Promise<Outcome<FileExecutor::KeptPage>> FileExecutor::kept(const Caller& caller,
                                                                schema::FileList::Reader request) {
  auto subject = fileSubject(core_.config, request, WholeWorkspace::kAllowed);
  if (auto* refused = std::get_if<Refused>(&subject)) return Outcome<KeptPage>(std::move(*refused));
  const auto& found = std::get<FileSubject>(subject);
  const auto limit = request.getLimit();
  using Results = schema::FileWorker::KeptResults;
  return ask<Results>(
             caller, readingOf("list", found), found,
             [path = found.path, after = std::string(::factionos::view(request.getAfter())),
              limit](schema::FileWorker::Client worker) {
               auto call = worker.keptRequest();
               call.setPath(dataOf(path));
               call.setAfter(after.c_str());
               call.setLimit(limit);
               return call;
             },
             [limit](const auto& response) { return areSound(response.getEntries(), limit); })
      .then([this, found](Outcome<capnp::Response<Results>>&& reply) -> Outcome<KeptPage> {
        if (auto* refused = std::get_if<Refused>(&reply)) return std::move(*refused);
        KeptPage page{.response = std::get<capnp::Response<Results>>(kj::mv(reply)), .proven = {}};
        const auto entries = page.response.getEntries();
        for (unsigned i = 0; i < entries.size(); ++i) {
          if (isProven(found, text(entries[i].getPath()), ::factionos::view(entries[i].getAction()),
                       entries[i].getState()))
            page.proven.push_back(i);
        }
        return page;
      });
}

kj::Promise<Outcome<std::string>> FileExecutor::newestKept(const FileSubject& subject, std::string before) {
  using Results = schema::FileWorker::KeptResults;
  using Reply = Outcome<capnp::Response<Results>>;
  return readAgainIfLost([this, subject, before]() {
           return workers_.take(*subject.workspace)
               .then([this, subject,
                      before](Outcome<std::shared_ptr<ScopedWorker>>&& taken) -> kj::Promise<Reply> {
                 if (auto* refused = std::get_if<Refused>(&taken)) return Reply(std::move(*refused));
                 auto worker = std::get<std::shared_ptr<ScopedWorker>>(std::move(taken));
                 auto call = worker->as<schema::FileWorker>().keptRequest();
                 call.setPath(dataOf(subject.path));
                 call.setAfter(before.c_str());
                 call.setLimit(kKeptPage);
                 return answered<Results>(
                     std::move(worker), kj::Promise<capnp::Response<Results>>(call.send()),
                     [](const auto& response) { return areSound(response.getEntries(), kKeptPage); });
               });
         })
      .then([this, subject](Reply&& reply) -> kj::Promise<Outcome<std::string>> {
        if (auto* refused = std::get_if<Refused>(&reply)) return Outcome<std::string>(std::move(*refused));
        const auto& response = std::get<capnp::Response<Results>>(reply);
        std::string last;
        for (const auto entry : response.getEntries()) {
          last = ::factionos::view(entry.getAction());
          if (text(entry.getPath()) == subject.path &&
              isProven(subject, subject.path, last, entry.getState()))
            return Outcome<std::string>(std::move(last));
        }
        if (response.getMore() && !last.empty()) return newestKept(subject, std::move(last));
        return Outcome<std::string>(Refused{.code = ProblemCode::NOT_FOUND,
                                            .detail = "No such copy of this path is kept.",
                                            .field = "entry"});
      });
}

FileExecutor::Answer<schema::FileWorker::ReadResults> FileExecutor::read(const Caller& caller,
                                                                         schema::FileRead::Reader request) {
  auto subject = fileSubject(core_.config, request);
  using Results = schema::FileWorker::ReadResults;
  using Reply = Outcome<capnp::Response<Results>>;
  if (auto* refused = std::get_if<Refused>(&subject)) return Reply(std::move(*refused));
  const auto& found = std::get<FileSubject>(subject);
  const auto reading = readingOf("read", found);
  const auto window = ReadWindow::around(request.getOffset(), request.getLength());
  auto asked = ask<Results>(
      caller, reading, found,
      [path = found.path, window](schema::FileWorker::Client worker) {
        auto call = worker.readRequest();
        call.setPath(dataOf(path));
        call.setOffset(window.offset);
        call.setLength(window.length);
        return call;
      },
      [window](const auto& response) {
        return response.getContent().size() <= window.length && response.hasState() &&
               isSound(response.getState());
      });
  return asked.then([this, caller, reading, window](Reply&& reply) -> kj::Promise<Reply> {
    if (std::holds_alternative<Refused>(reply)) return kj::mv(reply);
    const auto bytes = window.pieceOf(std::get<capnp::Response<Results>>(reply).getContent().size());
    return recorded(runner_, caller, reading, bytes, kj::mv(reply));
  });
}

FileExecutor::Answer<schema::FileWorker::PreviewResults> FileExecutor::diff(
    const Caller& caller, schema::FileDiff::Reader request) {
  auto subject = fileSubject(core_.config, request);
  using Results = schema::FileWorker::PreviewResults;
  using Reply = Outcome<capnp::Response<Results>>;
  if (auto* refused = std::get_if<Refused>(&subject)) return Reply(std::move(*refused));
  const auto& found = std::get<FileSubject>(subject);
  auto message = kj::heap<capnp::MallocMessageBuilder>();
  auto change = message->initRoot<schema::FileChange>();
  change.setPath(dataOf(found.path));
  if (auto wrong = fillChange(change, request)) return Reply(std::move(*wrong));
  const auto reading = readingOf("diff", found);
  const auto most = request.getDetail() ? kShownDiff : 0;
  if (!isRestoreOfNewest(change)) return diffOf(caller, reading, found, kj::mv(message), most);
  return runner_.mayRead(caller, reading)
      .then([this, found](std::optional<Refused>&& blocked) -> kj::Promise<Outcome<std::string>> {
        if (blocked) return Outcome<std::string>(std::move(*blocked));
        return newestKept(found, {});
      })
      .then([this, caller, reading, found, message = kj::mv(message),
             most](Outcome<std::string>&& newest) mutable -> kj::Promise<Reply> {
        if (auto* refused = std::get_if<Refused>(&newest)) return Reply(std::move(*refused));
        message->getRoot<schema::FileChange>().setRestore(std::get<std::string>(newest).c_str());
        return diffOf(caller, reading, found, kj::mv(message), most);
      });
}

FileExecutor::Answer<schema::FileWorker::PreviewResults> FileExecutor::diffOf(
    const Caller& caller, const Reading& reading, const FileSubject& subject,
    kj::Own<capnp::MallocMessageBuilder> change, std::uint32_t most) {
  using Results = schema::FileWorker::PreviewResults;
  using Reply = Outcome<capnp::Response<Results>>;
  auto asked = ask<Results>(
      caller, reading, subject,
      [message = kj::mv(change), most](schema::FileWorker::Client worker) mutable {
        auto call = worker.previewRequest();
        call.setChange(message->getRoot<schema::FileChange>().asReader());
        call.setTextBytes(most);
        return call;
      },
      [most](const auto& response) {
        return response.hasPreview() && isSound(response.getPreview()) &&
               response.getPreview().getText().size() <= most;
      });
  return asked.then([this, caller, reading, subject, most](Reply&& reply) -> kj::Promise<Reply> {
    if (std::holds_alternative<Refused>(reply)) return kj::mv(reply);
    if (auto refused = unproven(subject, std::get<capnp::Response<Results>>(reply).getPreview()))
      return Reply(*std::move(refused));
    if (most == 0) return kj::mv(reply);
    const auto bytes = std::get<capnp::Response<Results>>(reply).getPreview().getText().size();
    return recorded(runner_, caller, reading, bytes, kj::mv(reply));
  });
}

template <typename Request>
kj::Promise<ActionReply> FileExecutor::change(const Caller& caller, std::string key, const char* operation,
                                              Request request, std::optional<std::string> expected) {
  auto subject = fileSubject(core_.config, request);
  if (auto* refused = std::get_if<Refused>(&subject)) return ActionReply(std::move(*refused));
  FileChange::Asked asked{.subject = std::get<FileSubject>(std::move(subject)),
                          .change = kj::heap<capnp::MallocMessageBuilder>(),
                          .wrong = std::nullopt,
                          .digest = {},
                          .expected = std::move(expected)};
  auto change = asked.change->template initRoot<schema::FileChange>();
  change.setPath(dataOf(asked.subject.path));
  asked.wrong = fillChange(change, request);
  // The approval is no part of what happens.
  capnp::MallocMessageBuilder copy;
  copy.setRoot(request);
  auto root = copy.template getRoot<typename Request::Reads>();
  root.disownApproval();
  const auto bytes = json::canonicalBytes(root.asReader());
  std::string content = "file." + std::string(operation);
  content.append(1, '\0').append(bytes.asChars().begin(), bytes.size());
  asked.digest = core_.keys.digest(state::Purpose::kRequest, audit::asBytes(content));
  auto approval = request.hasApproval() ? Approved::from(request.getApproval()) : std::nullopt;
  return runner_.carryOut(caller, std::move(key), std::move(approval),
                          kj::heap<FileChange>(*this, operation, kj::mv(asked)));
}

kj::Promise<ActionReply> FileExecutor::write(const Caller& caller, std::string key,
                                             schema::FileWrite::Reader request) {
  return change(caller, std::move(key), "write", request, expectedBy(request));
}

kj::Promise<ActionReply> FileExecutor::edit(const Caller& caller, std::string key,
                                            schema::FileEdit::Reader request) {
  return change(caller, std::move(key), "edit", request, expectedBy(request));
}

kj::Promise<ActionReply> FileExecutor::remove(const Caller& caller, std::string key,
                                              schema::FileDelete::Reader request) {
  return change(caller, std::move(key), "delete", request, expectedBy(request));
}

kj::Promise<ActionReply> FileExecutor::restore(const Caller& caller, std::string key,
                                               schema::FileRestore::Reader request) {
  return change(caller, std::move(key), "restore", request, std::nullopt);
}

kj::Promise<Reconciler::Reconciled> FileExecutor::reconcile(const state::ActionRow& action) {
  const auto* workspace = action.workspace ? core_.config.findWorkspace(action.workspace->text()) : nullptr;
  if (workspace == nullptr) return Reconciled(Found::kCantTell);
  return settle(*workspace, action.id).then([](Found found) { return Reconciled(found); });
}

kj::Promise<Reconciler::Found> FileExecutor::settle(const home::WorkspaceEntry& workspace,
                                                    const std::string& action) {
  using Results = schema::FileWorker::SettleResults;
  using Perhaps = std::optional<Found>;
  const auto ask = [this, &workspace, action]() {
    return workers_.take(workspace)
        .then([this, action](Outcome<std::shared_ptr<ScopedWorker>>&& taken) -> kj::Promise<Perhaps> {
          if (std::holds_alternative<Refused>(taken)) return Perhaps();
          auto worker = std::get<std::shared_ptr<ScopedWorker>>(std::move(taken));
          auto call = worker->as<schema::FileWorker>().settleRequest();
          call.setAction(action.c_str());
          return rpc::withDeadline(core_.timer, kReadLimit,
                                   kj::Promise<capnp::Response<Results>>(call.send()))
              .then(
                  [worker](capnp::Response<Results>&& response) -> kj::Promise<Perhaps> {
                    return Perhaps(foundFrom(response.getFound()));
                  },
                  [this, worker](kj::Exception&& exception) {
                    return workers_.whyLost(worker, exception).then([](Refused&&) { return Perhaps(); });
                  });
        })
        .catch_([](kj::Exception&&) { return Perhaps(); });
  };
  return askedUpTo(kVerdictAttempts, core_.timer, ask).then([](Perhaps found) {
    return found.value_or(Found::kCantTell);
  });
}

}  // namespace factionos::broker
