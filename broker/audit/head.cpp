#include "broker/audit/head.h"

#include <cstring>

namespace factionos::audit {
namespace {

constexpr std::string_view kRole = "audit head";
constexpr std::array<std::uint8_t, 8> kMagic = {'F', 'A', 'H', 'E', 'A', 'D', '0', '1'};
// magic, five numbers (little endian), hash, signature, hash of all before it; zeros to the slot's end
constexpr std::size_t kNumbersAt = kMagic.size();
constexpr std::size_t kHashAt = kNumbersAt + 5 * 8;
constexpr std::size_t kSignatureAt = kHashAt + kDigestBytes;
constexpr std::size_t kSumAt = kSignatureAt + kSignatureBytes;
constexpr std::size_t kUsed = kSumAt + kDigestBytes;
static_assert(kUsed <= kHeadSlotBytes);

using Slot = std::array<std::uint8_t, kHeadSlotBytes>;

void putNumber(Slot& slot, std::size_t index, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i)
    slot[kNumbersAt + 8 * index + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t number(const Slot& slot, std::size_t index) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t{slot[kNumbersAt + 8 * index + i]} << (8 * i);
  return value;
}

Slot encode(const Head& head) {
  Slot slot{};
  std::memcpy(slot.data(), kMagic.data(), kMagic.size());
  putNumber(slot, 0, head.counter);
  putNumber(slot, 1, head.epoch);
  putNumber(slot, 2, head.sequence);
  putNumber(slot, 3, head.size);
  putNumber(slot, 4, head.epochStart);
  std::memcpy(slot.data() + kHashAt, head.hash.bytes.data(), kDigestBytes);
  std::memcpy(slot.data() + kSignatureAt, head.signature.data(), kSignatureBytes);
  const Digest sum = hash(Bytes(slot).first(kSumAt));
  std::memcpy(slot.data() + kSumAt, sum.bytes.data(), kDigestBytes);
  return slot;
}

std::optional<Head> decode(const Slot& slot) {
  Head head;
  head.counter = number(slot, 0);
  head.epoch = number(slot, 1);
  head.sequence = number(slot, 2);
  head.size = number(slot, 3);
  head.epochStart = number(slot, 4);
  std::memcpy(head.hash.bytes.data(), slot.data() + kHashAt, kDigestBytes);
  std::memcpy(head.signature.data(), slot.data() + kSignatureAt, kSignatureBytes);
  // Writing it again compares the magic, the sum and the padding in one.
  if (encode(head) != slot) return std::nullopt;
  return head;
}

std::string signedText(const Head& head) {
  const Slot slot = encode(head);
  return "factionos audit head 1 " + toHex(Bytes(slot).first(kSignatureAt));
}

std::size_t slotOf(std::uint64_t counter) {
  return counter % 2 == 1 ? 0 : 1;
}

HeadImage readImage(const FileDescriptor& file) {
  HeadImage image{};
  if (sizeOf(file, kRole) == image.size()) readAt(file, image, 0, kRole);
  return image;
}

}  // namespace

void Head::sign(const EpochKey& key) {
  signature = key.sign(signedText(*this));
}

bool Head::signedBy(const PublicKey& key) const {
  return verifySignature(key, signedText(*this), signature);
}

HeadPair decodeHeads(const HeadImage& image) {
  std::array<std::optional<Head>, 2> heads;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    Slot slot;
    std::memcpy(slot.data(), image.data() + i * kHeadSlotBytes, kHeadSlotBytes);
    heads[i] = decode(slot);
    if (heads[i] && slotOf(heads[i]->counter) != i) return {};
  }
  if (!heads[0] || !heads[1]) return HeadPair{heads[0] ? heads[0] : heads[1], true};
  const Head& newer = heads[0]->counter > heads[1]->counter ? *heads[0] : *heads[1];
  const Head& older = heads[0]->counter > heads[1]->counter ? *heads[1] : *heads[0];
  // Slots are written in turn; a copy of an old one over the newer shows here.
  if (newer.counter != older.counter + 1 || newer.sequence < older.sequence) return {};
  return HeadPair{newer, false};
}

HeadPair readHeads(const std::filesystem::path& path) {
  return decodeHeads(readImage(openOwn(path, OpenFor::kRead, kRole)));
}

HeadFile HeadFile::create(const std::filesystem::path& path, Head& head, const EpochKey& key, FileOps& ops) {
  HeadFile made(path, createOwn(path, kRole));
  HeadImage image{};
  for (head.counter = 1;; ++head.counter) {
    head.sign(key);
    const Slot slot = encode(head);
    std::memcpy(image.data() + slotOf(head.counter) * kHeadSlotBytes, slot.data(), slot.size());
    if (head.counter == 2) break;
  }
  writeAt(ops, made.file_, image, 0, kRole);
  made.sync(ops);
  made.state_ = HeadPair{head, false};
  made.counter_ = head.counter;
  return made;
}

HeadFile HeadFile::open(const std::filesystem::path& path) {
  HeadFile opened(path, openOwn(path, OpenFor::kWrite, kRole));
  opened.state_ = decodeHeads(readImage(opened.file_));
  if (opened.state_.newest) opened.counter_ = opened.state_.newest->counter;
  return opened;
}

void HeadFile::write(Head head, const EpochKey& key, FileOps& ops) {
  // A write that failed is done again over the same slot: the other one stays good until this one is.
  head.counter = counter_ + 1;
  head.sign(key);
  writeAt(ops, file_, encode(head), slotOf(head.counter) * kHeadSlotBytes, kRole);
  state_.newest = head;
}

void HeadFile::sync(FileOps& ops) {
  audit::sync(ops, file_, kRole);
  if (state_.newest) counter_ = state_.newest->counter;
}

}  // namespace factionos::audit
