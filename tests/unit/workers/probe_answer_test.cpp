// What Apple's program may print, and what is made of it.
#include <string>

#include <gtest/gtest.h>

#include "workers/probe/answer.h"

namespace factionos::probe {
namespace {

std::string entry(const std::string& name, const std::string& version) {
  return R"({"appName":")" + name + R"(","version":")" + version +
         R"(","buildType":"release","commit":"0a1b2c3"})";
}

TEST(ProbeAnswer, TellsTheProgramsVersionAndWhetherItsServiceAnswers) {
  const auto alone = readVersions("[" + entry("container", "1.2.2") + "]\n");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->program, "1.2.2");
  EXPECT_FALSE(alone->serviceAnswers);
  const std::string service =
      entry("container-apiserver", "container-apiserver version 1.2.2 (build: release, commit: 0a1b2c3)");
  const auto both = readVersions("[" + entry("container", "1.2.2") + "," + service + "]");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->serviceAnswers);
  EXPECT_FALSE(readVersions("[" + entry("container", "1.2") + "," + entry("container-apiserver", "") + "]")
                   .value()
                   .serviceAnswers);
}

TEST(ProbeAnswer, TakesNothingElseForOne) {
  const std::string good = entry("container", "1.2.2");
  for (const std::string& text :
       {std::string(), std::string("COMPONENT  VERSION\ncontainer  1.2.2\n"), std::string("\x7f\x45LF\0", 5),
        std::string("container CLI version 1.2.2"), std::string("null"), std::string("[]"),
        std::string("[1]"), good, "[" + good, "[" + good + "] trailing", "[" + good + "," + good + "]",
        "[" + entry("docker", "1.2.2") + "]", "[" + entry("container-apiserver", "1.2.2") + "]",
        std::string(R"([{"appName":"container"}])"), std::string(R"([{"version":"1.2.2"}])"),
        std::string(R"([{"appName":"container","version":12}])"), std::string(70'000, '['),
        "[" + good + std::string(",{}") + "]", "[\"\xff\xfe\"," + good + "]"})
    EXPECT_FALSE(readVersions(text)) << text.substr(0, 80);
  std::string many = good;
  for (int i = 0; i < 16; ++i) many += "," + entry("plugin", "x");
  EXPECT_FALSE(readVersions("[" + many + "]"));
}

TEST(ProbeAnswer, AVersionIsNumbersAlone) {
  for (const char* version : {"1.2", "0.9.4", "1.2.3.4", "9999.0"})
    EXPECT_TRUE(readVersions("[" + entry("container", version) + "]")) << version;
  for (const char* version : {"", "1", "1.", ".1", "1..2", "1.2.3.4.5", "10000.1", "1.2-beta", "v1.2", "1.2 ",
                              "1.2\\n", "1.2\\u0000"})
    EXPECT_FALSE(readVersions("[" + entry("container", version) + "]")) << version;
}

}  // namespace
}  // namespace factionos::probe
