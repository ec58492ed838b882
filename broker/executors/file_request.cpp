#include "broker/executors/file_request.h"

#include <sodium.h>

#include "protocol/text.h"

namespace factionos::broker {
namespace {

using schema::ProblemCode;

Refused invalid(redaction::Sentence detail, redaction::Literal field) {
  return {.code = ProblemCode::INVALID_REQUEST, .detail = detail, .field = field};
}

capnp::Data::Reader dataOf(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

// Of a request with the fields content and contentBase64, exactly one of which is wanted.
template <typename Request>
Outcome<std::string> contentOf(Request request) {
  if (request.hasContent() == request.hasContentBase64())
    return invalid("Exactly one of content and contentBase64 is wanted.", "content");
  if (request.hasContent()) return std::string(view(request.getContent()));
  auto bytes = fromBase64(request.getContentBase64());
  if (!bytes) return invalid("This is no base64.", "contentBase64");
  return *std::move(bytes);
}

template <typename Request>
std::optional<Refused> fillEdit(schema::FileChange::Builder change, Request request) {
  if (view(request.getOldText()) == view(request.getNewText()))
    return invalid("The new text is the old one.", "newText");
  auto edit = change.initEdit();
  edit.setOldText(dataOf(view(request.getOldText())));
  edit.setNewText(dataOf(view(request.getNewText())));
  edit.setEverywhere(request.getReplaceAll());
  return std::nullopt;
}

}  // namespace

audit::Label FileSubject::label() const {
  const auto name = path.substr(path.rfind('/') + 1);
  if (name.empty()) return audit::Label::of("directory");
  return audit::Label::parse(name).value_or(audit::Label::of("file"));
}

std::optional<std::string> fromBase64(capnp::Text::Reader text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.begin(),
                        text.size(), nullptr, &size, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0)
    return std::nullopt;
  bytes.resize(size);
  return bytes;
}

Outcome<FileSubject> fileSubject(const home::Config& config, capnp::Text::Reader workspace, bool hasPath,
                                 capnp::Text::Reader path, bool hasBase64, capnp::Text::Reader base64,
                                 WholeWorkspace whole) {
  FileSubject subject{.workspace = config.findWorkspace(view(workspace)), .path = {}};
  if (subject.workspace == nullptr)
    return Refused{.code = ProblemCode::NOT_FOUND,
                   .detail = "No workspace of this name is known.",
                   .field = "workspace"};
  if (hasPath && hasBase64) return invalid("Exactly one of path and pathBase64 is wanted.", "path");
  if (!hasPath && !hasBase64) {
    if (whole == WholeWorkspace::kAllowed) return subject;
    return invalid("A path is wanted.", "path");
  }
  if (hasPath) {
    subject.path = view(path);
  } else if (auto bytes = fromBase64(base64)) {
    subject.path = *std::move(bytes);
  } else {
    return invalid("This is no base64.", "pathBase64");
  }
  // The workspace itself by its other name.
  if (subject.path == "." && whole == WholeWorkspace::kAllowed) subject.path.clear();
  return subject;
}

std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileWrite::Reader request) {
  auto content = contentOf(request);
  if (auto* refused = std::get_if<Refused>(&content)) return std::move(*refused);
  auto write = change.initWrite();
  write.setContent(dataOf(std::get<std::string>(content)));
  write.setParents(request.getMakeParents());
  return std::nullopt;
}

bool isRestoreOfNewest(schema::FileChange::Reader change) {
  return change.isRestore() && change.getRestore().size() == 0;
}

std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileEdit::Reader request) {
  return fillEdit(change, request);
}

std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileDelete::Reader) {
  change.setDelete();
  return std::nullopt;
}

std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileRestore::Reader request) {
  change.setRestore(request.getEntry());
  return std::nullopt;
}

std::optional<Refused> fillChange(schema::FileChange::Builder change, schema::FileDiff::Reader request) {
  const bool write = request.hasContent() || request.hasContentBase64();
  const bool edit = request.hasOldText();
  if ((write ? 1 : 0) + (edit ? 1 : 0) + (request.hasEntry() ? 1 : 0) > 1)
    return invalid("A write, an edit or a restoration is compared, one at a time.", "content");
  if (edit) return fillEdit(change, request);
  if (!write) {
    change.setRestore(request.getEntry());
    return std::nullopt;
  }
  auto content = contentOf(request);
  if (auto* refused = std::get_if<Refused>(&content)) return std::move(*refused);
  change.initWrite().setContent(dataOf(std::get<std::string>(content)));
  return std::nullopt;
}

}  // namespace factionos::broker
