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

// "0644": a code of ours by its grammar is letters first, so as a label.
audit::Label modeLabel(std::uint16_t mode) {
  std::string text = "0000";
  for (std::size_t i = 0; i < 3; ++i) text[3 - i] = static_cast<char>('0' + ((mode >> (3 * i)) & 7));
  return audit::Label::of(text);
}

std::string base64Of(std::string_view bytes) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();
  return text;
}

}  // namespace

audit::Digest FileView::digestOf(schema::FileState::Reader state) const {
  std::string content = "file.state";
  content.append(1, '\0').append(std::to_string(static_cast<int>(state.getKind()))).append(1, '\0');
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
    out.set(&F::setMode, Redactor<B>::label(modeLabel(state.getMode())));
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
  out.set(&E::setSize, entry.getSize());
  out.set(&E::setModifiedAt, entry.getKeptMs());
  out.set(&E::setEntry, Response::label(actions::idLabel(std::string(view(entry.getAction())))));
  out.set(&E::setOperation, Response::code(audit::Code::of(view(entry.getOperation()))));
  out.set(&E::setAbsent, entry.getAbsent());
}

void FileView::fillContent(capnp::Data::Reader content, std::uint64_t offset, std::uint64_t size,
                           schema::FileEncoding encoding, Out<schema::FileContent> out) const {
  using C = schema::FileContent::Builder;
  const auto raw = viewOf(content);
  out.set(&C::setOffset, offset);
  out.set(&C::setBytes, static_cast<std::uint32_t>(raw.size()));
  out.set(&C::setEnd, offset + raw.size() >= size);
  if (encoding == schema::FileEncoding::BASE64) {
    const auto masked = masks_.maskBytes(raw);
    out.set(&C::setBase64, Response::masked<Category::kFileContents>(masked));
    out.set(&C::setExact, masked.text() == base64Of(raw));
    return;
  }
  // Escapes make it longer, by four at most, and markers a little.
  const auto masked = masks_.mask(raw, raw.size() * 4 + 4096);
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
         audit::Code::parse(view(entry.getOperation())) && !path.empty() && path.size() <= kLongestPath;
}

bool isSound(schema::FilePreview::Reader preview) {
  const auto entry = view(preview.getEntry());
  return isSound(preview.getBefore()) && isSound(preview.getAfter()) &&
         preview.getText().size() <= kLongestDiff &&
         (entry.empty() || state::isId(state::IdKind::kAction, entry));
}

}  // namespace factionos::broker
