#include "broker/executors/git_denials.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <capnp/message.h>

namespace factionos::broker {
namespace {

std::string detailOf(const char* rule) {
  capnp::MallocMessageBuilder message;
  auto denial = message.initRoot<schema::Denial>();
  denial.setCode("repository_refused");
  denial.setRule(rule);
  return gitDenied(denial.asReader()).detail.text();
}

// By the source of the worker, which names each with a literal.
std::set<std::string> rulesOfTheWorker() {
  std::set<std::string> rules;
  const std::regex thrown(R"re((?:repositoryRefused\(|, )"([a-z]+(?:_[a-z]+)+)"\))re");
  for (const auto& entry : std::filesystem::directory_iterator(FACTIONOS_SOURCE_DIR "/workers/git")) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("repositoryRefused(") == std::string::npos) continue;
    for (std::sregex_iterator match(text.begin(), text.end(), thrown), end; match != end; ++match)
      rules.insert((*match)[1]);
  }
  return rules;
}

TEST(GitDenials, EveryRuleThatARepositoryIsRefusedByIsToldByItsName) {
  const std::string other = detailOf("no_such_rule");
  const auto rules = rulesOfTheWorker();
  EXPECT_GT(rules.size(), 20U);
  for (const std::string& rule : rules) {
    if (rule == "not_readable") continue;  // libgit2 said no more
    EXPECT_NE(detailOf(rule.c_str()), other) << rule;
  }
}

}  // namespace
}  // namespace factionos::broker
