#include "broker/cli/operator_client.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "broker/identity/passphrase.h"
#include "broker/links/links.h"
#include "protocol/json/writer.h"
#include "protocol/rpc/deadline.h"

namespace factionos::cli {
namespace {

rpc::OwnFd connectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw Stop(kUsage, "the home's path is too long for a unix socket");
  path.copy(address.sun_path, path.size());
  rpc::OwnFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw Stop(kUnreachable, "no broker answers on the operator socket; start one with 'factionos serve'");
  return fd;
}

}  // namespace

identity::OperatorKey KeySource::open(const Context& context) const {
  identity::SecretBytes text;
  if (keyFile) {
    text = must(identity::readKeyFile(*keyFile));
  } else {
    text = must(identity::readKeyFile(context.homePath() + "/" + identity::kOperatorKeyFile));
  }
  const auto state = must(identity::keyStateOf(text.text()));
  identity::SecretBytes passphrase;
  if (state == identity::KeyState::kSealed) {
    passphrase =
        passphraseFile
            ? must(identity::readPassphraseFile(*passphraseFile))
            : must(identity::askPassphrase("Passphrase of the operator's key", identity::Confirm::kNo));
  }
  return must(identity::OperatorKey::open(text.text(), passphrase), kRefused);
}

OperatorClient::OperatorClient(const Context& context, const KeySource& source) : key_(source.open(context)) {
  auto options = broker::optionsOf(broker::linkOf(broker::Peer::kOperator));
  options.role = rpc::Role::kClient;
  line_ = std::make_unique<rpc::Connection>(loop_, connectTo(context.socketPath(home::kOperatorSocketName)),
                                            options);
  try {
    auto gate = line_->bootstrapAs<schema::OperatorGate>();
    auto hello = gate.helloRequest().send().wait(waitScope());
    identity::LoginChallenge challenge{.broker = hello.getBroker().cStr()};
    if (hello.getNonce().size() != challenge.nonce.size())
      throw Stop(kFailed, "the broker's greeting is malformed");
    std::copy(hello.getNonce().begin(), hello.getNonce().end(), challenge.nonce.begin());
    const auto signature = key_.sign(challenge);
    auto request = gate.loginRequest();
    request.setSignature({signature.data(), signature.size()});
    auto login = request.send().wait(waitScope());
    if (!login.hasOperator()) throw Stop(kRefused, "the broker does not accept this operator key");
    operator_ = login.getOperator();
  } catch (const kj::Exception&) {
    throw Stop(kUnreachable, "the broker closed the operator's connection");
  }
}

void stopOn(schema::Problem::Reader problem) {
  const auto kind = json::problemKind(problem.getCode());
  std::string text(kind.title);
  if (problem.hasDetail()) text += std::string(": ") + problem.getDetail().cStr();
  if (problem.getCurrentRevision() != 0)
    text += " (the current revision is " + std::to_string(problem.getCurrentRevision()) + ")";
  text += text.ends_with('.') ? " " : ". ";
  text += problem.hasRecovery() ? problem.getRecovery().cStr() : std::string(kind.recovery);
  throw Stop(kRefused, text);
}

}  // namespace factionos::cli
