#include "tests/hostile/front_scenarios.h"

#include <array>
#include <cstdint>
#include <limits>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <capnp/dynamic.h>

#include "protocol/rpc/deadline.h"
#include "protocol/rpc/descriptor.h"
#include "tests/hostile/acts.h"
#include "tests/hostile/wire.h"
#include "workers/common/start.h"

namespace factionos::hostile {
namespace {

constexpr auto kPatience = 20 * kj::SECONDS;
constexpr int kAtOnce = 64;
constexpr unsigned kItemsInside = 4;

pid_t brokerProcess() {
  ucred maker{};
  socklen_t size = sizeof maker;
  getsockopt(worker::kLine, SOL_SOCKET, SO_PEERCRED, &maker, &size);
  return maker.pid;
}

std::string nameOf(schema::ProblemCode code) {
  return kj::str(code).cStr();
}
std::string problemIn(const auto& response) {
  return response.hasProblem() ? nameOf(response.getProblem().getCode()) : "none";
}

// What a value of each kind is in one run over every method.
struct Hostile {
  std::string text;
  std::uint64_t number;
  unsigned items;
};

void fill(capnp::DynamicStruct::Builder target, const Hostile& hostile, int depth);

void fillText(capnp::DynamicStruct::Builder target, capnp::StructSchema::Field field,
              const Hostile& hostile) {
  auto text = target.init(field, static_cast<unsigned>(hostile.text.size())).as<capnp::Text>();
  std::copy(hostile.text.begin(), hostile.text.end(), text.begin());
}

void fillList(capnp::DynamicStruct::Builder target, capnp::StructSchema::Field field, const Hostile& hostile,
              int depth) {
  auto list = target.init(field, hostile.items).as<capnp::DynamicList>();
  const auto element = list.getSchema().whichElementType();
  // Lists within lists of long texts would be more than one message may hold.
  Hostile inner = hostile;
  inner.items = std::min(hostile.items, kItemsInside);
  for (unsigned each = 0; each < list.size(); ++each) {
    if (element == capnp::schema::Type::TEXT) list.set(each, hostile.text.c_str());
    if (element == capnp::schema::Type::STRUCT) fill(list[each].as<capnp::DynamicStruct>(), inner, depth + 1);
  }
}

void fill(capnp::DynamicStruct::Builder target, const Hostile& hostile, int depth) {
  if (depth > 6) return;
  for (const auto field : target.getSchema().getFields()) {
    const auto type = field.getType();
    switch (type.which()) {
      case capnp::schema::Type::TEXT:
        fillText(target, field, hostile);
        break;
      case capnp::schema::Type::STRUCT:
        fill(target.init(field).as<capnp::DynamicStruct>(), hostile, depth + 1);
        break;
      case capnp::schema::Type::LIST:
        fillList(target, field, hostile, depth);
        break;
      case capnp::schema::Type::ENUM:
        target.set(field, capnp::DynamicEnum(type.asEnum(), static_cast<std::uint16_t>(hostile.number)));
        break;
      case capnp::schema::Type::INT64:
        target.set(field, static_cast<std::int64_t>(hostile.number));
        break;
      case capnp::schema::Type::UINT64:
        target.set(field, hostile.number);
        break;
      case capnp::schema::Type::UINT32:
        target.set(field, static_cast<std::uint32_t>(hostile.number));
        break;
      case capnp::schema::Type::UINT16:
        target.set(field, static_cast<std::uint16_t>(hostile.number));
        break;
      default:
        break;
    }
  }
}

struct Counts {
  int answers = 0;
  int problems = 0;
  int exceptions = 0;
  int silent = 0;
  std::string first;  // method that threw
};

std::string textOf(const Counts& counts) {
  return "answers=" + std::to_string(counts.answers) + " problems=" + std::to_string(counts.problems) +
         " exceptions=" + std::to_string(counts.exceptions) + " silent=" + std::to_string(counts.silent) +
         " " + counts.first;
}

void floodOfBootstraps() {
  for (std::uint32_t question = 3'000'000;; ++question) {
    if (!sendMessage(
            [question](capnp::rpc::Message::Builder m) { m.initBootstrap().setQuestionId(question); }) ||
        !sendFinish(question))
      return;
    drainLine();
  }
}

}  // namespace

void BadFront::hold(schema::Listener::Kind kind, int socket) {
  (kind == schema::Listener::Kind::TCP ? tcp_ : unix_) = socket;
}

kj::Promise<std::string> BadFront::carryOut(const std::string& scenario, const std::string& token) {
  if (const Act* act = findAct(scenario)) {
    act->run({brokerProcess(), "/"});
    return std::string("came back");
  }
  if (const Breach* breach = findBreach(scenario)) {
    breach->commit();
    return std::string("sent");
  }
  if (scenario == "be_line") return beSomebody(worker::kLine);
  if (scenario == "be_events") return beSomebody(worker::kEvents);
  if (scenario == "be_unix_listener") return beSomebody(unix_);
  if (scenario == "be_tcp_listener") return beSomebody(tcp_);
  if (scenario == "guess_tokens") return guessTokens(2000);
  if (scenario == "approve_own") return approveOwn(token);
  if (scenario == "call_all") return callAll(token);
  if (scenario == "bootstraps") floodOfBootstraps();
  if (scenario == "silent") silent_ = true;
  if (scenario == "logins" || scenario == "previews" || scenario == "runs") {
    auto all = kj::Vector<kj::Promise<std::string>>();
    const int times = scenario == "previews" ? 3 : 10;
    for (int each = 0; each < kAtOnce; ++each) all.add(flood(token, scenario, times));
    return kj::joinPromises(all.releaseAsArray()).then([](kj::Array<std::string>) {
      return std::string("done");
    });
  }
  return std::string("known");
}

kj::Promise<schema::Api::Client> BadFront::login(const std::string& token) {
  auto request = gate_.tokenRequest();
  request.setToken({reinterpret_cast<const kj::byte*>(token.data()), token.size()});
  return request.send().then(
      [](capnp::Response<schema::Gate::TokenResults>&& response) { return response.getLogin().getApi(); });
}

kj::Promise<std::string> BadFront::beSomebody(int descriptor) {
  auto request = gate_.peerRequest();
  request.setConnection(
      rpc::carryDescriptor<schema::Descriptor>(rpc::OwnFd(fcntl(descriptor, F_DUPFD_CLOEXEC, 3))));
  return request.send().then([](capnp::Response<schema::Gate::PeerResults>&& response) {
    const auto login = response.getLogin();
    return login.hasApi() ? std::string(login.getPrincipal().cStr()) : problemIn(login);
  });
}

kj::Promise<std::string> BadFront::guessTokens(int left) {
  auto request = gate_.tokenRequest();
  const std::string guess = left == 1 ? std::string(1 << 20, 'A') : "fos_" + std::to_string(left * 7919);
  request.setToken({reinterpret_cast<const kj::byte*>(guess.data()), guess.size()});
  return request.send().then(
      [this, left](capnp::Response<schema::Gate::TokenResults>&& response) -> kj::Promise<std::string> {
        if (response.getLogin().hasApi()) return std::string("let in");
        if (left == 1) return problemIn(response.getLogin());
        return guessTokens(left - 1);
      });
}

// Proposes, and tries to be its own judge.
kj::Promise<std::string> BadFront::approveOwn(const std::string& token) {
  return login(token).then([](schema::Api::Client api) {
    auto run = api.terminalRunRequest();
    run.initCall().setIdempotencyKey("own");
    run.initRequest().setWorkspace("demo");
    run.getRequest().setShell("touch approved-by-itself");
    return run.send().then([api](capnp::Response<schema::Api::TerminalRunResults>&& waits) mutable {
      const auto action = waits.getAction();
      auto all = kj::Vector<kj::Promise<std::string>>();
      const std::array<std::string, 4> proofs{"", "AAAA", std::string(86, 'A'), action.getNonce().cStr()};
      for (const auto& proof : proofs) {
        auto request = api.actionApproveRequest();
        request.initCall().setIdempotencyKey(("a" + std::to_string(all.size())).c_str());
        request.initRequest().setId(action.getId());
        request.getRequest().setExpectedRevision(action.getRevision());
        if (!proof.empty()) request.getRequest().setProof(proof.c_str());
        all.add(request.send().then([](capnp::Response<schema::Api::ActionApproveResults>&& response) {
          return problemIn(response);
        }));
      }
      auto again = api.terminalRunRequest();
      again.initCall().setIdempotencyKey("own");
      again.initRequest().setWorkspace("demo");
      again.getRequest().setShell("touch approved-by-itself");
      again.getRequest().initApproval().setActionId(action.getId());
      again.getRequest().getApproval().setExpectedRevision(action.getRevision());
      all.add(again.send().then([](capnp::Response<schema::Api::TerminalRunResults>&& response) {
        return response.hasSession() ? std::string("ran") : "waits";
      }));
      return kj::joinPromises(all.releaseAsArray()).then([](kj::Array<std::string> codes) {
        std::string text;
        for (const auto& code : codes) text += code + " ";
        return text;
      });
    });
  });
}

// Every method of Api with values that no schema check of a front would let through.
kj::Promise<std::string> BadFront::callAll(const std::string& token) {
  static const std::array<Hostile, 6> kHostile{
      Hostile{"\x1b[2J\r\n\xff\xfe\x01 or 1=1 --", 0, 3},
      Hostile{std::string(200'000, 'A'), 1, 1},
      Hostile{"../../../../etc/shadow", std::numeric_limits<std::uint64_t>::max(), 2},
      Hostile{"", 0, 0},
      Hostile{std::string("a\0b", 3), 0x8000'0000'0000'0000U, 1},
      Hostile{"demo", 2, 2'000}};
  return login(token).then([this](schema::Api::Client api) {
    auto counts = std::make_shared<Counts>();
    auto all = kj::Vector<kj::Promise<void>>();
    capnp::DynamicCapability::Client dynamic(api);
    for (const auto& hostile : kHostile) {
      for (const auto method : dynamic.getSchema().getMethods()) {
        auto request = dynamic.newRequest(method);
        fill(request, hostile, 0);
        auto reply = kj::Promise<capnp::Response<capnp::DynamicStruct>>(request.send());
        all.add(rpc::withDeadline(loop_.timer(), kPatience, kj::mv(reply))
                    .then(
                        [counts](capnp::Response<capnp::DynamicStruct>&& response) {
                          ++(response.has("problem") ? counts->problems : counts->answers);
                        },
                        [counts,
                         name = std::string(method.getProto().getName().cStr())](kj::Exception&& exception) {
                          if (counts->first.empty())
                            counts->first = name + ": " + exception.getDescription().cStr();
                          ++(rpc::isDeadlineExceeded(exception) ? counts->silent : counts->exceptions);
                        }));
      }
    }
    return kj::joinPromises(all.releaseAsArray()).then([counts]() { return textOf(*counts); });
  });
}

// A new login each time, so that no bound of one connection holds it.
kj::Promise<std::string> BadFront::flood(const std::string& token, const std::string& scenario, int left) {
  if (left == 0) return std::string();
  return login(token)
      .then([scenario, token](schema::Api::Client api) -> kj::Promise<void> {
        static int key = 0;
        if (scenario == "logins") {
          auto list = api.actionListRequest();
          list.initRequest().setLimit(500);
          return list.send().ignoreResult();
        }
        if (scenario == "previews") {
          auto preview = api.terminalPreviewRequest();
          preview.initRequest().setWorkspace("demo");
          preview.getRequest().initCommand(1).set(0, "true");
          return preview.send().ignoreResult();
        }
        auto run = api.terminalRunRequest();
        run.initCall().setIdempotencyKey(std::to_string(++key).c_str());
        run.initRequest().setWorkspace("demo");
        run.getRequest().setShell("true");
        return run.send().ignoreResult();
      })
      .then([this, token, scenario, left]() { return flood(token, scenario, left - 1); });
}

}  // namespace factionos::hostile
