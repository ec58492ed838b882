#pragma once

#include <optional>
#include <string>
#include <variant>

#include "broker/core/core.h"
#include "broker/executors/effect.h"
#include "broker/home/config.h"
#include "protocol/schemas/api.capnp.h"
#include "protocol/schemas/file.capnp.h"

namespace factionos::broker {

// Which file of which workspace a request is about.
struct FileSubject {
  const home::WorkspaceEntry* workspace = nullptr;
  std::string path;  // raw bytes, relative; empty: the workspace itself. Request-scoped

  // The last component as far as it is a label: all that is kept of the path.
  audit::Label label() const;
};

enum class WholeWorkspace { kRefused, kAllowed };

// Works for every request of the family: all have the fields workspace, path and pathBase64.
Outcome<FileSubject> fileSubject(const home::Config& config, capnp::Text::Reader workspace, bool hasPath,
                                 capnp::Text::Reader path, bool hasBase64, capnp::Text::Reader base64,
                                 WholeWorkspace whole);
template <typename Request>
Outcome<FileSubject> fileSubject(const home::Config& config, Request request,
                                 WholeWorkspace whole = WholeWorkspace::kRefused) {
  return fileSubject(config, request.getWorkspace(), request.hasPath(), request.getPath(),
                     request.hasPathBase64(), request.getPathBase64(), whole);
}

// Nothing if it is no base64.
std::optional<std::string> fromBase64(capnp::Text::Reader text);

// What a write, an edit or a restoration is to do, as the worker is asked. The path is left to the caller.
std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileWrite::Reader request);
std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileEdit::Reader request);
std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileDelete::Reader request);
std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileRestore::Reader request);
std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileDiff::Reader request);

// Of a path's newest copy, which the broker has yet to name.
bool isRestoreOfNewest(schema::FileChange::Reader change);

// What the caller hears of the worker's denial. Its words are names of ours; one that is none is answered as
// a bad request.
Refused fileDenied(schema::Denial::Reader denial);

}  // namespace factionos::broker
