#include "tests/crash/operator_line.h"

#include <algorithm>

#include <sys/socket.h>
#include <sys/un.h>

#include "broker/links/links.h"

namespace factionos::test {
namespace {

rpc::OwnFd connectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  rpc::OwnFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  KJ_SYSCALL(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
  return fd;
}

}  // namespace

identity::OperatorKey operatorKeyOf(const std::string& home) {
  auto text = identity::readKeyFile(home + "/" + identity::kOperatorKeyFile);
  KJ_REQUIRE(text.ok(), "no operator key");
  auto key = identity::OperatorKey::open(text->text(), {});
  KJ_REQUIRE(key.ok(), "the key is sealed");
  return std::move(key).value();
}

OperatorLine::OperatorLine(const std::string& home, const identity::OperatorKey& key) : key_(key) {
  auto options = broker::optionsOf(broker::linkOf(broker::Peer::kOperator));
  options.role = rpc::Role::kClient;
  line_.emplace(loop_, connectTo(home + "/run/operator.sock"), options);
  auto gate = line_->bootstrapAs<schema::OperatorGate>();
  const auto hello = gate.helloRequest().send().wait(waitScope());
  identity::LoginChallenge challenge{.broker = hello.getBroker().cStr()};
  KJ_REQUIRE(hello.getNonce().size() == challenge.nonce.size());
  std::copy(hello.getNonce().begin(), hello.getNonce().end(), challenge.nonce.begin());
  const auto signature = key.sign(challenge);
  auto request = gate.loginRequest();
  request.setSignature({signature.data(), signature.size()});
  auto login = request.send().wait(waitScope());
  KJ_REQUIRE(login.hasOperator(), "the key was refused");
  operator_ = login.getOperator();
}

std::optional<schema::ProblemCode> OperatorLine::decide(const std::string& action, std::uint64_t revision,
                                                        schema::Verdict verdict) {
  auto seen = service().actionRequest();
  seen.setId(action.c_str());
  const auto shown = seen.send().wait(waitScope());
  if (shown.hasProblem()) return shown.getProblem().getCode();
  const auto nonce = identity::parseNonce(shown.getAction().getNonce().cStr());
  identity::ProofMessage message{.actionId = action,
                                 .revision = revision,
                                 .decision = verdict == schema::Verdict::APPROVE
                                                 ? identity::ProofDecision::kApprove
                                                 : identity::ProofDecision::kReject,
                                 .nonce = nonce.value_or(identity::Nonce{}),
                                 .reasonDigest = std::nullopt};
  auto request = service().decideRequest();
  request.setId(action.c_str());
  request.setExpectedRevision(revision);
  request.setVerdict(verdict);
  request.setProof(identity::proofText(key_.sign(message)).c_str());
  const auto decided = request.send().wait(waitScope());
  if (decided.hasProblem()) return decided.getProblem().getCode();
  return std::nullopt;
}

}  // namespace factionos::test
