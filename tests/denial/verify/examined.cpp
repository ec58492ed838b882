#include "tests/denial/verify/examined.h"

#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/walls/guarantees.h"
#include "sandbox/descriptors.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::test {
namespace {

namespace verify = sandbox::verify;

std::string lines(const verify::Report& report) {
  std::ostringstream text;
  text << report.passed() << "\n";
  for (const verify::Finding& finding : report.findings) {
    text << finding.guarantee->profile << "/" << finding.guarantee->id << "\t" << label(finding.verdict)
         << "\t" << finding.counts << "\t" << finding.cause << "\n";
  }
  return text.str();
}

[[noreturn]] void examineHere(const sandbox::Fd& out, const std::string& profile, const Change& change,
                              const std::function<void()>& before) {
  sandbox::testing::becomeOrdinary();
  setenv("TMPDIR", "/tmp", 1);
  if (before) before();
  const auto all = walls::subjects();
  std::vector<verify::Subject> subjects(all.begin(), all.end());
  for (verify::Subject& subject : subjects) change(subject);
  std::string text;
  try {
    text = lines(verify::verify({subjects, walls::guarantees(), profile, {}}));
  } catch (const std::exception& error) {
    text = std::string("0\n") + error.what();
  }
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(out.get(), text.data() + at, text.size() - at);
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  _exit(0);
}

}  // namespace

const Judged& Examined::of(const std::string& name) const {
  static const Judged kNone{"missing", false, "no such guarantee"};
  const auto found = findings.find(name);
  return found == findings.end() ? kNone : found->second;
}

std::vector<std::string> Examined::thatAre(const std::string& verdict) const {
  std::vector<std::string> names;
  for (const auto& [name, judged] : findings) {
    if (judged.verdict == verdict) names.push_back(name);
  }
  return names;
}

Examined examine(const std::string& profile, const Change& change, const std::function<void()>& before) {
  sandbox::Pipe pipe = sandbox::makePipe();
  const pid_t child = fork();
  if (child == 0) examineHere(pipe.write, profile, change, before);
  pipe.write.reset();
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(pipe.read.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  waitpid(child, nullptr, 0);
  Examined examined;
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  examined.passed = line == "1";
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string name, counts;
    Judged judged;
    std::getline(fields, name, '\t');
    std::getline(fields, judged.verdict, '\t');
    std::getline(fields, counts, '\t');
    std::getline(fields, judged.cause);
    judged.counts = counts == "1";
    examined.findings.emplace(name, judged);
  }
  EXPECT_FALSE(examined.findings.empty()) << text;
  return examined;
}

Change changed(std::function<void(sandbox::Policy&)> change) {
  return [change = std::move(change)](verify::Subject& subject) {
    subject.policies = [change, policies = subject.policies](const verify::World& world,
                                                             const sandbox::NamespacePosture& given) {
      std::vector<sandbox::Policy> result = policies(world, given);
      for (sandbox::Policy& policy : result) change(policy);
      return result;
    };
  };
}

}  // namespace factionos::test
