#pragma once

#include <optional>

#include "broker/actions/outgoing.h"
#include "broker/core/core.h"
#include "broker/executors/session_output.h"
#include "protocol/schemas/api.capnp.h"
#include "protocol/schemas/file.capnp.h"

namespace factionos::broker {

// What a file worker said, checked, as values of the API. Contents and names are masked on their way.
class FileView {
 public:
  FileView(const state::Keys& keys, const MaskRules& masks) : keys_(keys), masks_(masks) {}

  // Keyed, of kind and content: equal for equal states at this broker, and no guess can be tried against it
  // elsewhere.
  audit::Digest digestOf(schema::FileState::Reader state) const;
  // The same with its place, size and mode: what an action is approved and remembered by.
  audit::Digest digestOf(std::string_view path, schema::FileState::Reader state) const;

  template <redaction::Boundary B>
  void fillFacts(schema::FileState::Reader state, actions::Outgoing<B, schema::FileFacts> out) const;
  using Response = redaction::Redactor<redaction::Boundary::kApiResponse>;
  template <typename T>
  using Out = actions::Outgoing<redaction::Boundary::kApiResponse, T>;
  void fillEntry(schema::NodeEntry::Reader entry, Out<schema::FileEntry> out) const;
  void fillKept(schema::KeptEntry::Reader entry, Out<schema::FileEntry> out) const;
  // The name of an entry as the `after` of the next page.
  template <typename Results>
  void fillNext(capnp::Data::Reader name, Out<Results> out,
                void (Results::Builder::*setter)(capnp::Text::Reader)) const {
    out.set(setter, nextOf(name));
  }
  // `content` is of a window.
  void fillContent(capnp::Data::Reader content, schema::FileRead::Reader request, std::uint64_t fileSize,
                   Out<schema::FileContent> out) const;
  enum class Lines { kCounted, kShown };
  void fillChanges(schema::FilePreview::Reader preview, Lines lines, Out<schema::FileChanges> out) const;

 private:
  redaction::Redacted<redaction::Boundary::kApiResponse> nextOf(capnp::Data::Reader name) const;
  void fillName(capnp::Data::Reader name, Out<schema::FileEntry> out) const;
  const state::Keys& keys_;
  const MaskRules& masks_;
};

// "0644"
std::string modeText(std::uint16_t mode);

// What is read for a piece that was asked for: with so much around it that what is a secret in the whole file
// is known as one in the piece.
struct ReadWindow {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  redaction::Piece piece;  // in it

  static ReadWindow around(std::uint64_t offset, std::uint32_t length);
  // Of what was read, as far as the file goes.
  std::size_t pieceOf(std::size_t read) const;
};

// Whether a worker of ours could have said it.
bool isSound(schema::FileState::Reader state);
bool isSound(schema::NodeEntry::Reader entry);
bool isSound(schema::KeptEntry::Reader entry);
bool isSound(schema::FilePreview::Reader preview);

}  // namespace factionos::broker
