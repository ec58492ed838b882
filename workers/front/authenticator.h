// Asks the broker who a token or a unix peer is, once, and remembers the answer for as long as the broker
// lets it.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <kj/async.h>
#include <kj/timer.h>

#include "protocol/schemas/front.capnp.h"
#include "workers/front/login.h"
#include "workers/front/request.h"

namespace factionos::front {

inline constexpr std::size_t kMaxTokenBytes = 512;
inline constexpr std::size_t kMaxLogins =
    256;  // remembered; above it the one unused for longest is asked for again
inline constexpr kj::Duration kFailureMemory = 1 * kj::SECONDS;
// Failed logins that the broker is asked about: at most kFailureBurst at once and kFailuresPerSecond on the
// average. A token that is known is not touched by it.
inline constexpr unsigned kFailureBurst = 20;
inline constexpr unsigned kFailuresPerSecond = 10;

// A hash keyed anew in each process, so that neither timing nor a dump of the cache's keys tells a token.
using TokenKey = std::array<unsigned char, 32>;

struct HashKey {
  std::array<unsigned char, 32> bytes;
};
// Initialises libsodium; asks the kernel for randomness, so call it before the sandbox.
HashKey drawHashKey();

class Authenticator final : private kj::TaskSet::ErrorHandler {
 public:
  // `timer` outlives this.
  Authenticator(kj::Timer& timer, const HashKey& key);
  KJ_DISALLOW_COPY(Authenticator);

  // Until then every login is refused as not ready.
  void connect(schema::Gate::Client gate);

  // Neither fails; a lost broker is a refusal with notReady. `token`: 1 to kMaxTokenBytes of visible ASCII,
  // else refused here.
  kj::Promise<LoginOutcome> token(std::string_view token);
  // Remembered in `peer` itself.
  kj::Promise<LoginOutcome> peer(Peer& peer);

  // The broker's loginEpoch: another one than before forgets every login.
  void setEpoch(std::uint64_t brokerEpoch);
  // Rises whenever logins are forgotten: what was decided under another number is to be asked for again.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  struct Entry {
    TokenKey key;
    LoginOutcome outcome;
    kj::TimePoint goodUntil;  // of a refusal
  };
  using Entries = std::list<Entry>;  // used last first
  using Question =
      std::pair<TokenKey, std::uint64_t>;  // the second is the epoch: an older answer is no answer
  using Waiting = std::vector<kj::Own<kj::PromiseFulfiller<LoginOutcome>>>;

  TokenKey keyOf(std::string_view token) const;
  const LoginOutcome* remembered(const TokenKey& key);
  void remember(const TokenKey& key, const LoginOutcome& outcome);
  kj::Promise<LoginOutcome> ask(std::string_view token);
  void settle(const Question& question, const LoginOutcome& outcome);
  LoginOutcome outcomeOf(schema::Login::Reader login, std::uint64_t askedIn);
  void refillFailures();
  void taskFailed(kj::Exception&& exception) override;

  kj::Timer& timer_;
  kj::Maybe<schema::Gate::Client> gate_;
  HashKey hashKey_;
  std::uint64_t brokerEpoch_ = 0;
  std::uint64_t epoch_ = 1;
  Entries entries_;
  std::map<TokenKey, Entries::iterator> index_;
  std::map<Question, Waiting> asking_;
  double failuresLeft_ = kFailureBurst;
  kj::TimePoint refilled_;
  kj::TaskSet tasks_;
};

}  // namespace factionos::front
