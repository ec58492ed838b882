#include "workers/file/service.h"

#include <algorithm>
#include <string>

#include "workers/file/change.h"
#include "workers/file/reading.h"

namespace factionos::file {
namespace {

std::string_view viewOf(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}
std::string_view viewOf(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}
capnp::Data::Reader dataOf(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

void fill(schema::Denial::Builder denial, const Denied& denied) {
  denial.setCode(kj::heapString(denied.code.data(), denied.code.size()));
  denial.setRule(kj::heapString(denied.rule.data(), denied.rule.size()));
}

schema::NodeKind kindOf(Kind kind) {
  switch (kind) {
    case Kind::kAbsent:
      return schema::NodeKind::ABSENT;
    case Kind::kFile:
      return schema::NodeKind::FILE;
    case Kind::kDirectory:
      return schema::NodeKind::DIRECTORY;
    case Kind::kSymlink:
      return schema::NodeKind::SYMLINK;
    case Kind::kOther:
      break;
  }
  return schema::NodeKind::OTHER;
}

void fill(schema::FileState::Builder out, const FileState& state) {
  out.setKind(kindOf(state.kind));
  out.setSize(state.size);
  out.setMode(static_cast<std::uint16_t>(state.mode));
  out.setModifiedMs(state.modifiedMs);
  out.setLinks(state.links);
  out.setAttributes(static_cast<std::uint16_t>(state.attributes));
  if (state.sha) out.setSha({state.sha->data(), state.sha->size()});
}

// What apply() compares.
FileState stateFrom(schema::FileState::Reader in) {
  FileState state;
  state.kind = in.getKind() == schema::NodeKind::ABSENT ? Kind::kAbsent : Kind::kFile;
  state.mode = in.getMode();
  const auto sha = in.getSha();
  if (sha.size() == Sha{}.size()) {
    state.sha.emplace();
    std::copy(sha.begin(), sha.end(), state.sha->begin());
  }
  return state;
}

Or<Change> changeFrom(schema::FileChange::Reader in) {
  Change change{.path = std::string(viewOf(in.getPath())), .what = Delete{}};
  switch (in.which()) {
    case schema::FileChange::WRITE: {
      const auto write = in.getWrite();
      change.what = Write{.content = viewOf(write.getContent()),
                          .parents = write.getParents() ? Parents::kMake : Parents::kMustExist};
      return change;
    }
    case schema::FileChange::EDIT: {
      const auto edit = in.getEdit();
      change.what = Edit{.oldText = viewOf(edit.getOldText()),
                         .newText = viewOf(edit.getNewText()),
                         .everywhere = edit.getEverywhere()};
      return change;
    }
    case schema::FileChange::DELETE:
      return change;
    case schema::FileChange::RESTORE:
      change.what = Restore{.action = std::string(viewOf(in.getRestore()))};
      return change;
  }
  return denials::kBadRequest;
}

class Service final : public schema::FileWorker::Server {
 public:
  explicit Service(int workspace) : workspace_(workspace), changer_(workspace) {}

  kj::Promise<void> stat(StatContext context) override {
    return answer(context, lookAt(workspace_, viewOf(context.getParams().getPath())),
                  [](auto results, const FileState& state) { fill(results.initState(), state); });
  }

  kj::Promise<void> list(ListContext context) override {
    const auto params = context.getParams();
    return answer(
        context,
        listDirectory(workspace_, viewOf(params.getPath()), viewOf(params.getAfter()), params.getLimit()),
        [](auto results, const Listing& listing) {
          auto entries = results.initEntries(static_cast<unsigned>(listing.entries.size()));
          for (unsigned i = 0; i < entries.size(); ++i) {
            const Entry& entry = listing.entries[i];
            entries[i].setName(dataOf(entry.name));
            entries[i].setKind(kindOf(entry.state.kind));
            entries[i].setSize(entry.state.size);
            entries[i].setModifiedMs(entry.state.modifiedMs);
          }
          results.setMore(listing.more);
        });
  }

  kj::Promise<void> read(ReadContext context) override {
    const auto params = context.getParams();
    return answer(context,
                  readPiece(workspace_, viewOf(params.getPath()), params.getOffset(), params.getLength()),
                  [](auto results, const Piece& piece) {
                    results.setContent(dataOf(piece.content));
                    fill(results.initState(), piece.state);
                  });
  }

  kj::Promise<void> preview(PreviewContext context) override {
    const auto params = context.getParams();
    const auto change = changeFrom(params.getChange());
    if (const Denied* denied = deniedIn(change)) return refuse(context, *denied);
    const auto most = std::min<std::size_t>(params.getTextBytes(), kLongestRead);
    return answer(context, changer_.preview(std::get<Change>(change), most),
                  [](auto results, const Changer::Preview& found) {
                    auto out = results.initPreview();
                    fill(out.initBefore(), found.before);
                    fill(out.initAfter(), found.after);
                    out.setHunks(found.diff.hunks);
                    out.setInsertions(found.diff.insertions);
                    out.setDeletions(found.diff.deletions);
                    out.setBinary(found.diff.binary);
                    out.setText(dataOf(found.diff.text));
                    out.setDroppedBytes(found.diff.droppedBytes);
                    out.setEntry(found.entry.c_str());
                    if (!found.entry.empty()) fill(out.initKept(), found.kept);
                  });
  }

  kj::Promise<void> apply(ApplyContext context) override {
    const auto params = context.getParams();
    const auto change = changeFrom(params.getChange());
    if (const Denied* denied = deniedIn(change)) return refuse(context, *denied);
    return answer(
        context,
        changer_.apply(std::get<Change>(change), std::string(viewOf(params.getAction())),
                       std::string(viewOf(params.getOperation())),
                       {.before = stateFrom(params.getBefore()), .after = stateFrom(params.getAfter())}),
        [](auto results, const FileState& after) { fill(results.initAfter(), after); });
  }

  kj::Promise<void> settle(SettleContext context) override {
    const std::string action(viewOf(context.getParams().getAction()));
    if (!isAction(action)) return refuse(context, denials::kBadRequest);
    using schema::Settled;
    const auto landed = changer_.settle(action);
    context.getResults().setFound(landed == Landed::kYes  ? Settled::HAPPENED
                                  : landed == Landed::kNo ? Settled::DID_NOT_HAPPEN
                                                          : Settled::CANT_TELL);
    return kj::READY_NOW;
  }

  kj::Promise<void> kept(KeptContext context) override {
    const auto params = context.getParams();
    const auto path = viewOf(params.getPath());
    if (!path.empty() && !isPlainPath(path)) return refuse(context, denials::kBadPath);
    const auto limit = std::clamp<std::size_t>(params.getLimit(), 1, kMostEntries);
    auto [records, skipped] = changer_.kept().list(path, viewOf(params.getAfter()), limit + 1);
    auto results = context.getResults();
    results.setSkipped(skipped);
    results.setMore(records.size() > limit);
    if (records.size() > limit) records.pop_back();
    results.setTotalBytes(changer_.kept().totalBytes());
    auto entries = results.initEntries(static_cast<unsigned>(records.size()));
    for (unsigned i = 0; i < entries.size(); ++i) {
      const KeptRecord& record = records[i];
      entries[i].setAction(record.action.c_str());
      entries[i].setOperation(record.operation.c_str());
      entries[i].setPath(dataOf(record.path));
      entries[i].setKeptMs(record.keptMs);
      fill(entries[i].initState(), keptState(record));
    }
    return kj::READY_NOW;
  }

 private:
  template <typename Context>
  static kj::Promise<void> refuse(Context& context, const Denied& denied) {
    fill(context.getResults().initDenial(), denied);
    return kj::READY_NOW;
  }
  template <typename Context, typename T, typename Fill>
  static kj::Promise<void> answer(Context& context, const Or<T>& outcome, Fill fillResults) {
    if (const Denied* denied = deniedIn(outcome)) return refuse(context, *denied);
    fillResults(context.getResults(), std::get<T>(outcome));
    return kj::READY_NOW;
  }

  int workspace_;
  Changer changer_;
};

}  // namespace

schema::FileWorker::Client makeService(int workspace) {
  return kj::heap<Service>(workspace);
}

}  // namespace factionos::file
