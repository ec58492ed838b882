#include "workers/front/authenticator.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sodium.h>

#include <kj/exception.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/deadline.h"
#include "protocol/rpc/descriptor.h"

namespace factionos::front {
namespace {

constexpr kj::Duration kAskLimit = 10 * kj::SECONDS;
// Questions under way at once: more than a burst of new clients, less than what would fill the line to the
// broker.
constexpr std::size_t kMaxAsking = 64;

LoginOutcome refused(schema::ProblemCode code, std::uint32_t retryAfterMs = 0) {
  return {nullptr, code, retryAfterMs};
}

bool isVisible(char c) {
  return c > 0x20 && c < 0x7f;
}

}  // namespace

HashKey drawHashKey() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium can't be initialised");
  HashKey key;
  randombytes_buf(key.bytes.data(), key.bytes.size());
  return key;
}

Authenticator::Authenticator(kj::Timer& timer, const HashKey& key)
    : timer_(timer), hashKey_(key), refilled_(timer.now()), tasks_(*this) {}

void Authenticator::connect(schema::Gate::Client gate) {
  gate_ = kj::mv(gate);
}

void Authenticator::setEpoch(std::uint64_t brokerEpoch) {
  if (brokerEpoch == brokerEpoch_) return;
  brokerEpoch_ = brokerEpoch;
  ++epoch_;
  entries_.clear();
  index_.clear();
}

kj::Promise<LoginOutcome> Authenticator::token(std::string_view token) {
  if (token.empty() || token.size() > kMaxTokenBytes || !std::ranges::all_of(token, isVisible))
    return refused(schema::ProblemCode::UNAUTHENTICATED);
  const TokenKey key = keyOf(token);
  if (const LoginOutcome* known = remembered(key)) return *known;
  const Question question(key, epoch_);
  auto found = asking_.find(question);
  if (found == asking_.end()) {
    refillFailures();
    if (failuresLeft_ < 1 || asking_.size() >= kMaxAsking)
      return refused(schema::ProblemCode::RATE_LIMITED, 1000 / kFailuresPerSecond);
    found = asking_.emplace(question, Waiting()).first;
    // Whatever happens, those who wait for the answer get one.
    tasks_.add(kj::evalNow([&]() {
                 return ask(token);
               }).catch_([](kj::Exception&&) {
                   return refused(schema::ProblemCode::NOT_READY);
                 }).then([this, question](const LoginOutcome& outcome) { settle(question, outcome); }));
  }
  auto answer = kj::newPromiseAndFulfiller<LoginOutcome>();
  found->second.push_back(kj::mv(answer.fulfiller));
  return kj::mv(answer.promise);
}

void Authenticator::settle(const Question& question, const LoginOutcome& outcome) {
  const bool answered = outcome.login != nullptr || outcome.code != schema::ProblemCode::NOT_READY;
  if (answered && outcome.login == nullptr) failuresLeft_ = std::max(0.0, failuresLeft_ - 1);
  if (answered && question.second == epoch_) remember(question.first, outcome);
  const auto found = asking_.find(question);
  Waiting waiting = std::move(found->second);
  asking_.erase(found);
  for (auto& waiter : waiting) waiter->fulfill(LoginOutcome(outcome));
}

kj::Promise<LoginOutcome> Authenticator::ask(std::string_view token) {
  FACTIONOS_IF_SOME(gate, gate_) {
    auto request = gate.tokenRequest();
    request.setToken(kj::arrayPtr(reinterpret_cast<const kj::byte*>(token.data()), token.size()));
    auto answered = request.send().then(
        [this, askedIn = epoch_](auto&& response) { return outcomeOf(response.getLogin(), askedIn); });
    return rpc::withDeadline(timer_, kAskLimit, kj::mv(answered));
  }
  return refused(schema::ProblemCode::NOT_READY);
}

kj::Promise<LoginOutcome> Authenticator::peer(Peer& peer) {
  if (peer.login != nullptr && peer.login->epoch == epoch_) return LoginOutcome{peer.login};
  const int copy = peer.descriptor < 0 ? -1 : ::fcntl(peer.descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return refused(schema::ProblemCode::NOT_READY);
  rpc::OwnFd owned(copy);
  FACTIONOS_IF_SOME(gate, gate_) {
    auto request = gate.peerRequest();
    request.setConnection(rpc::carryDescriptor<schema::Descriptor>(kj::mv(owned)));
    auto answered = request.send().then([this, &peer, askedIn = epoch_](auto&& response) {
      LoginOutcome outcome = outcomeOf(response.getLogin(), askedIn);
      peer.login = outcome.login;
      return outcome;
    });
    return rpc::withDeadline(timer_, kAskLimit, kj::mv(answered)).catch_([](kj::Exception&&) {
      return refused(schema::ProblemCode::NOT_READY);
    });
  }
  return refused(schema::ProblemCode::NOT_READY);
}

LoginOutcome Authenticator::outcomeOf(schema::Login::Reader login, std::uint64_t askedIn) {
  if (!login.hasApi()) {
    const auto problem = login.getProblem();
    const bool told = problem.getCode() != schema::ProblemCode::UNSPECIFIED;
    return refused(told ? problem.getCode() : schema::ProblemCode::UNAUTHENTICATED,
                   problem.getRetryAfterMs());
  }
  std::uint32_t scopes = 0;
  for (const schema::Scope scope : login.getScopes())
    if (const auto bit = static_cast<unsigned>(scope); bit > 0 && bit < 32) scopes |= 1U << bit;
  std::vector<std::string> withheld;
  for (const auto field : login.getWithheld()) withheld.emplace_back(field.begin(), field.size());
  return {std::make_shared<Login>(
      Login{login.getApi(), scopes, askedIn, login.getRefusals(), std::move(withheld)})};
}

TokenKey Authenticator::keyOf(std::string_view token) const {
  TokenKey key;
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(token.data()),
                     token.size(), hashKey_.bytes.data(), hashKey_.bytes.size());
  return key;
}

const LoginOutcome* Authenticator::remembered(const TokenKey& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  const auto entry = found->second;
  if (entry->outcome.login == nullptr && timer_.now() >= entry->goodUntil) {
    entries_.erase(entry);
    index_.erase(found);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return &entry->outcome;
}

void Authenticator::remember(const TokenKey& key, const LoginOutcome& outcome) {
  if (index_.contains(key)) return;
  if (entries_.size() == kMaxLogins) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, outcome, timer_.now() + kFailureMemory});
  index_.emplace(key, entries_.begin());
}

void Authenticator::refillFailures() {
  const kj::TimePoint now = timer_.now();
  const auto passed = static_cast<double>((now - refilled_) / kj::MILLISECONDS) / 1000.0;
  failuresLeft_ = std::min<double>(kFailureBurst, failuresLeft_ + passed * kFailuresPerSecond);
  refilled_ = now;
}

void Authenticator::taskFailed(kj::Exception&&) {}  // asking never fails

}  // namespace factionos::front
