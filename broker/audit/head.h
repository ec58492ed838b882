#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "broker/audit/epoch_key.h"
#include "broker/audit/line.h"
#include "broker/audit/secure_file.h"

// The head file: how far the log goes, in two slots written in turn, so that power loss during one leaves the
// other.
namespace factionos::audit {

struct Head {
  std::uint64_t counter = 0;     // raised at every write; odd in slot 0, even in slot 1
  std::uint64_t epoch = 0;       // whose key signed it
  std::uint64_t sequence = 0;    // of the last line
  std::uint64_t size = 0;        // bytes of the log up to and with it
  std::uint64_t epochStart = 0;  // offset of the line that began the epoch
  Digest hash{};                 // of the last line
  Signature signature{};

  // Signs everything but `signature`.
  void sign(const EpochKey& key);
  bool signedBy(const PublicKey& key) const;
};

inline constexpr std::size_t kHeadSlotBytes = 512;  // one sector: the unit that disks write whole

struct HeadPair {
  std::optional<Head> newest{};
  bool damaged = false;  // one slot is unreadable, as power loss during its write leaves it
};

using HeadImage = std::array<std::uint8_t, 2 * kHeadSlotBytes>;

// What two slots say. Nothing in `newest` if none is readable or the two contradict each other. Never throws.
HeadPair decodeHeads(const HeadImage& image);

// Throws FileError.
HeadPair readHeads(const std::filesystem::path& file);

// The open head file of the writer.
class HeadFile {
 public:
  // Makes the file with both slots filled by one head.
  static HeadFile create(const std::filesystem::path& path, Head& head, const EpochKey& key, FileOps& ops);
  static HeadFile open(const std::filesystem::path& path);

  // Numbers, signs and writes `head` over the older slot. Not durable before sync().
  void write(Head head, const EpochKey& key, FileOps& ops);
  void sync(FileOps& ops);
  const HeadPair& state() const { return state_; }
  bool stillNamed() const { return stillNames(path_, file_); }

 private:
  HeadFile(std::filesystem::path path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  FileDescriptor file_;
  HeadPair state_;
  std::uint64_t counter_ = 0;  // of the last write that was synced
};

}  // namespace factionos::audit
