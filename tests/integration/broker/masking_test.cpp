// Secrets in the stream, seen through the API as a client sees them. The masker's own tests cut at every
// byte; these prove that it is in the way.
#include <fstream>

#include <sys/stat.h>

#include "live_broker.h"

namespace factionos::test {
namespace {

const std::string kBody = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const std::string kSecret = "ghp_" + kBody;

std::string python(const std::string& program) {
  return R"("command":["python3","-c",)" + json(program) + "]";
}

TEST(Masking, B1_ASecretPrintedByteByByteIsMaskedOnce) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto ended =
      broker.outcome(python("import sys,time\nfor c in '" + kSecret +
                            "':\n  sys.stdout.write(c); sys.stdout.flush(); time.sleep(0.001)\n"),
                     token, "k1");
  const auto output = outputOf(ended);
  EXPECT_EQ(output.find(kBody.substr(4, 8)), std::string::npos) << output;
  EXPECT_NE(output.find("[masked:"), std::string::npos) << output;
}

TEST(Masking, B2_EverySplitPointGivesTheSameResult) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto ended =
      broker.outcome(python("import sys\ns='" + kSecret +
                            "'\nfor i in range(1,len(s)):\n  sys.stdout.write(s[:i]); sys.stdout.flush(); "
                            "sys.stdout.write(s[i:]+' end\\n'); sys.stdout.flush()\n"),
                     token, "k1");
  const auto output = outputOf(ended);
  EXPECT_EQ(output.find(kBody.substr(4, 8)), std::string::npos);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = output.find(" end\n", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, kSecret.size() - 1);
}

TEST(Masking, B5_RepeatsLeaveNoRemains) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto output = outputOf(broker.outcome(
      R"("command":["printf",")" + kSecret + kSecret + " " + kSecret + R"(\\n"])", token, "k1"));
  EXPECT_EQ(output.find(kBody.substr(4, 8)), std::string::npos) << output;
}

TEST(Masking, ATokenFileOfTheHomeIsAKnownValueInAllItsForms) {
  LiveBroker broker;
  broker.stop();
  const std::string known = "zebra-correct-horse-99";
  writeFile(broker.home() + "/tokens/custom", known + "\n");
  ASSERT_EQ(runProcess({"/bin/chmod", "600", broker.home() + "/tokens/custom"}, broker.environment(),
                       broker.workspace())
                .status,
            0);
  broker.start();
  const auto token = broker.token();
  const auto output = outputOf(broker.outcome(
      python("import base64\ns='" + known +
             "'\nprint(s)\nprint(base64.b64encode(s.encode()).decode())\nprint(s.encode().hex())\n"),
      token, "k1"));
  EXPECT_EQ(output.find("correct-horse"), std::string::npos) << output;
  EXPECT_EQ(output.find("emVicmEtY29y"), std::string::npos) << output;
  EXPECT_EQ(output.find("7a656272612d"), std::string::npos) << output;
}

TEST(Masking, ATokenOfOursIsMaskedByItsFormWhereverItLies) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto output =
      outputOf(broker.outcome(R"("command":["printf","got )" + token + R"( end"])", token, "k1"));
  EXPECT_EQ(output.find(token.substr(8, 12)), std::string::npos) << output;
  EXPECT_NE(output.find("[masked:"), std::string::npos) << output;
  EXPECT_NE(output.find(" end"), std::string::npos) << output;
}

// A file of tokens/, made while the broker does not run.
void writeSecret(LiveBroker& broker, const std::string& name, const std::string& value) {
  broker.stop();
  const auto path = broker.home() + "/tokens/" + name;
  writeFile(path, value);
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  broker.start();
}

TEST(Masking, ASecretThatIsTooWeakToMaskIsCountedAndTold) {
  LiveBroker broker;
  writeSecret(broker, "weak", "abc");
  const auto token = broker.token();
  const auto diagnostics = broker.get("/v1/diagnostics", token);
  EXPECT_EQ(diagnostics.at("/diagnostics/masking/weak"), "1") << diagnostics.body;
  EXPECT_EQ(diagnostics.at("/diagnostics/masking/status"), "available");
  EXPECT_NE(broker.process().waitForLine("secrets known=0 weak=1 refused=0"), "");
  EXPECT_EQ(broker.propose(R"("command":["true"])", token, "k1").status, 202);
}

TEST(Masking, NoSessionStartsWhileASecretCantBeMasked) {
  LiveBroker broker;
  const auto token = broker.token();
  for (const std::size_t size : {std::size_t{9000}, std::size_t{20000}}) {  // too long to mask, and to read
    std::string value;
    for (std::size_t i = 0; i < size; ++i) value += static_cast<char>('a' + i * i % 26);
    writeSecret(broker, "long", value);
    const auto diagnostics = broker.get("/v1/diagnostics", token);
    EXPECT_EQ(diagnostics.at("/diagnostics/masking/refused"), "1") << diagnostics.body;
    EXPECT_EQ(diagnostics.at("/diagnostics/terminal/fallbackReason"), "secrets_not_masked");
    const auto refused = broker.propose(R"("command":["true"])", token, uniqueKey());
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.code(), "sandbox_unavailable");
  }
  writeSecret(broker, "long", "short enough 123");
  EXPECT_EQ(broker.propose(R"("command":["true"])", token, uniqueKey()).status, 202);
}

TEST(Masking, B10_APromptIsShownWhileTheProgramWaits) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto session =
      broker.run(R"("shell":"printf 'Password: '; read x; echo done")", token, "k1").at("/session/id");
  broker.untilOutput(session, "Password: ", token);
  broker.post("/v1/terminal/sessions/" + session + "/input", R"({"data":"x\n"})", token, uniqueKey());
  broker.ended(session, token);
}

TEST(Masking, B11_APrefixAtTheEndIsShownAfterThePauseAndItsBodyNever) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto session =
      broker.run(R"("shell":"printf gh; read x; printf 'p_)" + kBody + R"(\\n'; read x")", token, "k1")
          .at("/session/id");
  broker.untilOutput(session, "gh", token);
  broker.post("/v1/terminal/sessions/" + session + "/input", R"({"data":"\n"})", token, uniqueKey());
  const auto shown = broker.untilOutput(session, "p_", token);
  broker.post("/v1/terminal/sessions/" + session + "/input", R"({"data":"\n"})", token, uniqueKey());
  EXPECT_EQ(outputOf(broker.ended(session, token)).find(kBody.substr(4, 8)), std::string::npos) << shown.body;
}

}  // namespace
}  // namespace factionos::test
