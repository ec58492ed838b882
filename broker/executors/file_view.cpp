#include "broker/executors/file_view.h"

#include <algorithm>
#include <array>

#include <sodium.h>

#include "broker/actions/view.h"
#include "broker/state/ids.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using redaction::Boundary;
using redaction::Category;
using redaction::Redactor;

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestPath = 4095;
constexpr std::size_t kLongestDiff = std::size_t{256} << 10;
constexpr std::uint16_t kModeBits = 0777;
constexpr std::int64_t kLatestMs = 253'402'300'799'999;  // what RFC 3339 can say

std::string_view viewOf(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

schema::FileKind kindOf(schema::NodeKind kind) {
  switch (kind) {
    case schema::NodeKind::ABSENT:
      return schema::FileKind::ABSENT;
    case schema::NodeKind::FILE:
      return schema::FileKind::FILE;
    case schema::NodeKind::DIRECTORY:
      return schema::FileKind::DIRECTORY;
    case schema::NodeKind::SYMLINK:
      return schema::FileKind::SYMLINK;
    case schema::NodeKind::OTHER:
      return schema::FileKind::OTHER;
    default:
      return schema::FileKind::UNSPECIFIED;
  }
}

bool isKind(schema::NodeKind kind) {
  return kindOf(kind) != schema::FileKind::UNSPECIFIED;
}

std::string base64Of(std::string_view bytes) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();
  return text;
}

bool isKept(schema::FileState::Reader state) {
  if (state.getKind() == schema::NodeKind::ABSENT) return state.getSha().size() == 0;
  return state.getKind() == schema::NodeKind::FILE && isSound(state) &&
         state.getSha().size() == audit::kDigestBytes;
}

// What comes is what was kept, under the mode that the file has or else had.
bool isRestoration(schema::FilePreview::Reader preview) {
  const auto kept = preview.getKept();
  const auto after = preview.getAfter();
  const auto before = preview.getBefore();
  if (!state::isId(state::IdKind::kAction, view(preview.getEntry())) || !isKept(kept)) return false;
  if (after.getKind() != kept.getKind() || viewOf(after.getSha()) != viewOf(kept.getSha())) return false;
  if (after.getKind() == schema::NodeKind::ABSENT) return true;
  return after.getMode() == (before.getKind() == schema::NodeKind::FILE ? before.getMode() : kept.getMode());
}

}  // namespace

audit::Digest FileView::digestOf(schema::FileState::Reader state) const {
  std::string content = "file.state";
  content.append(1, '\0').append(std::to_string(static_cast<int>(state.getKind()))).append(1, '\0');
  content.append(viewOf(state.getSha()));
  return keys_.digest(state::Purpose::kRequest, audit::asBytes(content));
}

audit::Digest FileView::digestOf(std::string_view path, schema::FileState::Reader state) const {
  std::string content = "file.placed";
  content.append(1, '\0').append(path).append(1, '\0');
  for (const std::uint64_t number : {std::uint64_t{static_cast<std::uint16_t>(state.getKind())},
                                     std::uint64_t{state.getMode()}, state.getSize()})
    content.append(std::to_string(number)).append(1, '\0');
  content.append(viewOf(state.getSha()));
  return keys_.digest(state::Purpose::kRequest, audit::asBytes(content));
}

template <Boundary B>
void FileView::fillFacts(schema::FileState::Reader state, actions::Outgoing<B, schema::FileFacts> out) const {
  using F = schema::FileFacts::Builder;
  out.set(&F::setKind, kindOf(state.getKind()));
  if (state.getKind() == schema::NodeKind::ABSENT) return;
  out.set(&F::setSize, state.getSize());
  if (state.getLinks() != 0) {
    out.set(&F::setMode, Redactor<B>::label(audit::Label::of(modeText(state.getMode()))));
    out.set(&F::setLinks, state.getLinks());
  }
  if (state.getModifiedMs() != 0) out.set(&F::setModifiedAt, state.getModifiedMs());
  out.set(&F::setAttributes, state.getAttributes());
  if (state.hasSha() && state.getSha().size() > 0) {
    const auto digest = digestOf(state);
    out.set(&F::setDigest, Redactor<B>::bytes(redaction::PublicBytes::hex(digest.bytes)));
  }
}
template void FileView::fillFacts(schema::FileState::Reader,
                                  actions::Outgoing<Boundary::kApiResponse, schema::FileFacts>) const;
template void FileView::fillFacts(schema::FileState::Reader,
                                  actions::Outgoing<Boundary::kStateAtRest, schema::FileFacts>) const;

void FileView::fillName(capnp::Data::Reader name, Out<schema::FileEntry> out) const {
  using E = schema::FileEntry::Builder;
  const auto raw = viewOf(name);
  const auto shown = masks_.mask(raw, kLongestPath * 4);
  out.set(&E::setName, Response::masked<Category::kFileName>(shown));
  if (shown.text() == raw) return;
  out.set(&E::setNameBase64, Response::masked<Category::kFileName>(masks_.maskBytes(raw)));
}

redaction::Redacted<Boundary::kApiResponse> FileView::nextOf(capnp::Data::Reader name) const {
  return Response::masked<Category::kFileName>(masks_.maskBytes(viewOf(name)));
}

void FileView::fillEntry(schema::NodeEntry::Reader entry, Out<schema::FileEntry> out) const {
  using E = schema::FileEntry::Builder;
  fillName(entry.getName(), out);
  out.set(&E::setKind, kindOf(entry.getKind()));
  out.set(&E::setSize, entry.getSize());
  out.set(&E::setModifiedAt, entry.getModifiedMs());
}

void FileView::fillKept(schema::KeptEntry::Reader entry, Out<schema::FileEntry> out) const {
  using E = schema::FileEntry::Builder;
  fillName(entry.getPath(), out);
  out.set(&E::setKind, schema::FileKind::FILE);
  out.set(&E::setSize, entry.getState().getSize());
  out.set(&E::setModifiedAt, entry.getKeptMs());
  out.set(&E::setEntry, Response::label(actions::idLabel(std::string(view(entry.getAction())))));
  out.set(&E::setOperation, Response::code(audit::Code::of(view(entry.getOperation()))));
  out.set(&E::setAbsent, entry.getState().getKind() == schema::NodeKind::ABSENT);
}

void FileView::fillContent(capnp::Data::Reader content, schema::FileRead::Reader request,
                           std::uint64_t fileSize, Out<schema::FileContent> out) const {
  using C = schema::FileContent::Builder;
  const auto window = ReadWindow::around(request.getOffset(), request.getLength());
  const auto whole = viewOf(content);
  const redaction::Piece piece{.from = window.piece.from, .size = window.pieceOf(whole.size())};
  const auto raw = whole.substr(std::min(piece.from, whole.size()), piece.size);
  out.set(&C::setOffset, request.getOffset());
  out.set(&C::setBytes, static_cast<std::uint32_t>(raw.size()));
  out.set(&C::setEnd, request.getOffset() + raw.size() >= fileSize);
  if (request.getEncoding() == schema::FileEncoding::BASE64) {
    const auto masked = masks_.maskBytes(whole, piece);
    out.set(&C::setBase64, Response::masked<Category::kFileContents>(masked));
    out.set(&C::setExact, masked.text() == base64Of(raw));
    return;
  }
  // Escapes make it longer, by four at most, and markers a little.
  const auto masked = masks_.mask(whole, raw.size() * 4 + 4096, piece);
  out.set(&C::setText, Response::masked<Category::kFileContents>(masked));
  out.set(&C::setExact, masked.text() == raw);
}

void FileView::fillChanges(schema::FilePreview::Reader preview, Lines lines,
                           Out<schema::FileChanges> out) const {
  using C = schema::FileChanges::Builder;
  out.set(&C::setHunks, preview.getHunks());
  out.set(&C::setInsertions, preview.getInsertions());
  out.set(&C::setDeletions, preview.getDeletions());
  out.set(&C::setBinary, preview.getBinary());
  fillFacts(preview.getBefore(), out.init(&C::initBefore));
  fillFacts(preview.getAfter(), out.init(&C::initAfter));
  if (preview.getEntry().size() > 0)
    out.set(&C::setEntry, Response::label(actions::idLabel(std::string(view(preview.getEntry())))));
  if (lines == Lines::kCounted) return;
  const auto raw = viewOf(preview.getText());
  out.set(&C::setText, Response::masked<Category::kDiff>(masks_.mask(raw, raw.size() * 4 + 4096)));
  out.set(&C::setDroppedBytes, preview.getDroppedBytes());
}

std::string modeText(std::uint16_t mode) {
  std::string text = "0000";
  for (std::size_t i = 0; i < 3; ++i) text[3 - i] = static_cast<char>('0' + ((mode >> (3 * i)) & 7));
  return text;
}

ReadWindow ReadWindow::around(std::uint64_t offset, std::uint32_t length) {
  const auto before = std::min<std::uint64_t>(offset, redaction::kContextBefore);
  return {.offset = offset - before,
          .length = static_cast<std::uint32_t>(before + length + redaction::kContextAfter),
          .piece = {.from = static_cast<std::size_t>(before), .size = length}};
}

std::size_t ReadWindow::pieceOf(std::size_t read) const {
  return std::min(piece.size, read - std::min(piece.from, read));
}

bool isSound(schema::FileState::Reader state) {
  return isKind(state.getKind()) && state.getMode() <= kModeBits &&
         (state.getSha().size() == 0 || state.getSha().size() == audit::kDigestBytes) &&
         (state.getSha().size() == 0 || state.getKind() == schema::NodeKind::FILE);
}

bool isSound(schema::NodeEntry::Reader entry) {
  const auto name = viewOf(entry.getName());
  return isKind(entry.getKind()) && !name.empty() && name.size() <= kLongestName &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

bool isSound(schema::KeptEntry::Reader entry) {
  const auto path = viewOf(entry.getPath());
  return state::isId(state::IdKind::kAction, view(entry.getAction())) &&
         audit::Code::parse(view(entry.getOperation())) && !path.empty() && path.size() <= kLongestPath &&
         entry.getKeptMs() >= 0 && entry.getKeptMs() <= kLatestMs && isKept(entry.getState());
}

bool isSound(schema::FilePreview::Reader preview) {
  return isSound(preview.getBefore()) && isSound(preview.getAfter()) &&
         preview.getText().size() <= kLongestDiff &&
         (preview.getEntry().size() == 0 || isRestoration(preview));
}

}  // namespace factionos::broker
