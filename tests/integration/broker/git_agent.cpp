#include "git_agent.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace factionos::test {

GitAgent::GitAgent(LiveBroker& broker, const std::string& name)
    : broker_(broker), token_(broker.token("read,propose", name)) {}

void GitAgent::makeRepository() {
  shell(
      "git init -q -b main && git config user.name Ada && git config user.email ada@example.org && "
      "echo one > a.txt && git add -A && git commit -q -m first && echo two > a.txt && echo new > b.txt");
}

std::string GitAgent::shell(const std::string& line) {
  const std::string root = broker_.home().substr(0, broker_.home().rfind('/'));
  const std::string script = root + "/script";
  const std::string printed = root + "/printed";
  std::ofstream(script) << "cd '" << broker_.workspace() << "' || exit 1\n" << line << "\n";
  const std::string command =
      "env -i PATH=/usr/bin:/bin HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null sh '" +
      script + "' > '" + printed + "' 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream file(printed);
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(status, 0) << line << "\n" << text;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Reply GitAgent::ask(const std::string& operation, const std::string& members) {
  return broker_.post("/v1/git/" + operation,
                      R"({"workspace":"demo")" + (members.empty() ? "" : "," + members) + "}", token_);
}

Reply GitAgent::change(const std::string& operation, const std::string& members, const std::string& key,
                       const std::string& approval) {
  return broker_.post("/v1/git/" + operation,
                      R"({"workspace":"demo")" + (members.empty() ? "" : "," + members) + approval + "}",
                      token_, key);
}

std::string GitAgent::approval(const std::string& actionId, std::uint64_t revision) {
  return R"(,"approval":{"actionId":")" + actionId + R"(","expectedRevision":)" + std::to_string(revision) +
         "}";
}

Reply GitAgent::carryOut(const std::string& operation, const std::string& members, const std::string& key) {
  const auto proposed = change(operation, members, key);
  if (proposed.status != 202) return proposed;
  const auto id = proposed.at("/action/id");
  EXPECT_EQ(broker_.approve(id).status, 0);
  return change(operation, members, key, approval(id));
}

}  // namespace factionos::test
