#include <filesystem>
#include <fstream>
#include <sstream>

#include "live_broker.h"

namespace factionos::test {
namespace {

std::string auditFile(const LiveBroker& broker) {
  return broker.home() + "/state/audit/audit.log";
}

void runSome(LiveBroker& broker) {
  const auto token = broker.token();
  for (int i = 0; i < 3; ++i) broker.outcome(R"("command":["true"])", token, "k" + std::to_string(i));
}

std::vector<std::string> linesOf(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const auto& line : lines) all += line;
  return all;
}

TEST(Audit, P81_D1_D2_EveryChangeIsFoundAndItsPlaceNamed) {
  LiveBroker broker;
  runSome(broker);
  broker.stop();
  const auto file = auditFile(broker);
  const auto good = readFile(file);
  const auto verify = [&]() { return broker.cli({"audit", "verify"}); };
  ASSERT_EQ(verify().status, 0) << verify().out;
  const auto broken = [&](const std::string& content, const char* what) {
    writeFile(file, content);
    const auto verdict = verify();
    EXPECT_EQ(verdict.status, 1) << what << verdict.out;
    EXPECT_NE(verdict.out.find("BROKEN at line"), std::string::npos) << what << verdict.out;
  };
  auto flipped = good;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  broken(flipped, "a flipped byte");
  const auto lines = linesOf(good);
  ASSERT_GT(lines.size(), 8U);
  broken(joined({lines.begin() + 1, lines.end()}), "the first record dropped");
  for (const std::size_t k : {1U, 2U, 5U})
    broken(joined({lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(k)}), "the last k dropped");
  broken("", "all dropped");
  auto swapped = lines;
  std::swap(swapped[4], swapped[5]);
  broken(joined(swapped), "two swapped");
  writeFile(file, good);
  EXPECT_EQ(verify().status, 0);
}

TEST(Audit, TheFirstKeyThatInitPrintedIsWhereItBegins) {
  LiveBroker broker;
  const auto& init = broker.initOutput();
  const auto at = init.find("audit key   ") + 12;
  const auto key = init.substr(at, 64);
  EXPECT_EQ(broker.cli({"audit", "verify", "--first-key", key}).status, 0);
  auto other = key;
  other[0] = other[0] == 'a' ? 'b' : 'a';
  EXPECT_EQ(broker.cli({"audit", "verify", "--first-key", other}).status, 1);
}

TEST(Audit, ADeniedRequestIsRecorded) {
  LiveBroker broker({.policy = "[[rule]]\nfamily = \"terminal\"\noperation = \"run\"\ndecision = "
                               "\"deny\"\nreason = \"never here\"\n"});
  const auto refused = broker.propose(R"("command":["true"])", broker.token(), "k1");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.code(), "policy_blocked");
  EXPECT_NE(broker.cli({"audit", "list"}).out.find("deny  denied  demo/true"), std::string::npos)
      << broker.cli({"audit", "list"}).out;
}

TEST(Audit, AnAnchorOutsideShowsThatTheHomeWasPutBack) {
  LiveBroker broker;
  broker.stop();
  const auto config = broker.home() + "/config.toml";
  const auto anchor = broker.workspace() + "/anchor";  // outside of the home, and writable for its user
  auto text = readFile(config);
  const auto line = text.find("# anchor = ");
  ASSERT_NE(line, std::string::npos);
  writeFile(config, text.replace(line, text.find('\n', line) - line, "anchor = \"" + anchor + "\""));
  broker.start();
  runSome(broker);
  EXPECT_NE(broker.cli({"audit", "verify"}).out.find("as its anchor says"), std::string::npos);
  broker.stop();
  const auto later = readFile(anchor);
  ASSERT_GT(linesOf(later).size(), 6U);
  // As if the home were older than what the anchor has seen.
  writeFile(anchor, later + "faa1 seq=100000 hash=" + std::string(64, '0') + "\n");
  EXPECT_EQ(broker.cli({"audit", "verify"}).status, 1);
  const auto refused = broker.cli({"serve", "--listen", "127.0.0.1:0"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("anchor"), std::string::npos) << refused.err;
  writeFile(anchor, later);
  EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0);
}

TEST(Audit, ExportIsOneJsonObjectALine) {
  LiveBroker broker;
  runSome(broker);
  const auto exported = broker.cli({"audit", "export"});
  EXPECT_EQ(exported.status, 0);
  for (const auto& line : linesOf(exported.out)) {
    Reply reply;
    reply.body = line;
    EXPECT_TRUE(reply.has("/seq") || reply.has("/sequence")) << line;
  }
}

TEST(Audit, TheApiTellsTheSameAsTheCommand) {
  LiveBroker broker;
  runSome(broker);
  const auto token = broker.token();
  const auto verdict = broker.get("/v1/audit/verify", token);
  EXPECT_EQ(verdict.at("/verdict/intact"), "true") << verdict.body;
  EXPECT_NE(broker.initOutput().find(verdict.at("/verdict/firstPublicKey")), std::string::npos);
  const auto list = broker.get("/v1/audit?after=0&limit=5", token);
  EXPECT_EQ(list.number("/records/0/sequence"), 1U);
  EXPECT_EQ(list.number("/next"), 5U);
}

}  // namespace
}  // namespace factionos::test
