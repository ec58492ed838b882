// What `explain` says of a command, cell by cell, against what the kernel does to one: a probe that the real
// launcher and session start in the real profile tries them all in one batch.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "broker/walls/question.h"
#include "matrix_world.h"
#include "sandbox/landlock.h"
#include "tests/absent.h"

namespace factionos::test {
namespace {

namespace explain = sandbox::explain;
using explain::Operation;

struct Cell {
  std::string operation;
  std::string target;
  explain::Answer answer;
  int listener = -1;
};

struct Variant {
  const char* name;
  const char* profile;
  Story story;
  schema::NetworkProfile network;
  Kernel kernel = Kernel::kAsItIs;
};

constexpr Variant kVariants[] = {
    {"command", "command", Story::kNamespaces, schema::NetworkProfile::NONE},
    {"command_loopback", "command-loopback", Story::kNamespaces, schema::NetworkProfile::LOOPBACK},
    {"command_full", "command-full", Story::kNamespaces, schema::NetworkProfile::FULL},
    {"command_plain", "command-plain", Story::kForbidden, schema::NetworkProfile::NONE},
    {"command_full_plain", "command-full-plain", Story::kForbidden, schema::NetworkProfile::FULL},
    {"without_user_namespaces", "command", Story::kNamespaces, schema::NetworkProfile::NONE,
     Kernel::kNoUserNamespaces},
};

constexpr std::pair<const char*, Operation> kOperations[] = {
    {"read", Operation::kRead},
    {"write", Operation::kWrite},
    {"create", Operation::kCreate},
    {"exec", Operation::kExecute},
};

class CommandMatrix : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (GetParam().story == Story::kNamespaces && !hasNamespaces()) ABSENT("user namespaces");
  }

  // What probeNamespaces() would tell where commands are started.
  static sandbox::NamespaceSupport support() {
    if (GetParam().kernel == Kernel::kAsItIs) return sandbox::probeNamespaces();
    return {ENOSPC, ENOSPC, ENOSPC, ENOSPC, ENOSPC, ENOSPC};
  }

  walls::World knownWorld(const MatrixWorld& matrix, const Broker& broker, const sandbox::Fd& workspace) {
    walls::World world;
    world.workspace = broker.world.workspace;
    world.workspaceHandle = workspace.get();
    world.scratch = broker.world.scratch;
    world.programPaths = {matrix.programs()};
    world.readPaths = {matrix.data()};
    world.apiPort = matrix.apiPort();
    world.support = support();
    world.landlockAbi = sandbox::landlockAbi();
    return world;
  }

  static std::vector<Cell> cells(const MatrixWorld& matrix, const walls::Question& question) {
    const explain::Explainer explainer(question.scene);
    std::vector<Cell> cells;
    for (const std::string& target : matrix.targets()) {
      for (const auto& [name, operation] : kOperations) {
        const auto path = walls::fileTarget(target, question.command);
        EXPECT_TRUE(path) << target;
        cells.push_back({name, target, explainer.file(operation, *path)});
      }
    }
    for (const MatrixPeer& peer : matrix.peers()) {
      const auto parsed = walls::peerTarget(peer.target, question.command);
      EXPECT_TRUE(parsed) << peer.target;
      cells.push_back({"connect", peer.target, explainer.connect(*parsed), peer.listener});
    }
    return cells;
  }

  static std::vector<int> tried(Broker& broker, const MatrixWorld& matrix, const std::vector<Cell>& cells) {
    const std::string& root = broker.world.workspace;
    std::string lines;
    for (const Cell& cell : cells) lines += cell.operation + " " + cell.target + "\n";
    broker.world.write(root + "/cells", lines);
    CommandLine command = argv({"./probe"}, GetParam().story);
    command.network = GetParam().network;
    command.programPaths = {matrix.programs()};
    command.readPaths = {matrix.data()};
    command.apiPort = matrix.apiPort();
    const Result result = broker.run(command);
    EXPECT_EQ(result.denial, "");
    EXPECT_EQ(result.code, 0) << result.output;
    std::istringstream text(World::read(root + "/results"));
    std::vector<int> errors;
    for (int error = 0; text >> error;) errors.push_back(error);
    return errors;
  }
};

std::string described(const explain::Answer& answer) {
  return std::string(answer.allowed ? "allowed" : "denied") + " errno " + std::to_string(answer.error) +
         " by " + std::string(nameOf(answer.layer)) + ": " + answer.rule + ": " + answer.reason;
}

// A link of /proc leads each process elsewhere: explain says so, and nothing is compared.
bool isOpen(const explain::Answer& answer) {
  return !answer.allowed && answer.error == 0 && answer.layer == explain::Layer::kSystem;
}

TEST_P(CommandMatrix, EveryAnswerIsTheKernels) {
  Broker broker(GetParam().kernel);
  const MatrixWorld matrix(broker.world);
  std::filesystem::copy_file(FACTIONOS_EXPLAIN_PROBE, broker.world.workspace + "/probe");
  const sandbox::Fd workspace(open(broker.world.workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const walls::Profile* const profile = walls::findProfile(GetParam().profile);
  ASSERT_NE(profile, nullptr);
  const walls::Question question = walls::ask(*profile, knownWorld(matrix, broker, workspace));
  const std::vector<Cell> all = cells(matrix, question);
  const std::vector<int> errors = tried(broker, matrix, all);
  ASSERT_EQ(errors.size(), all.size());
  unsigned compared = 0;
  unsigned left = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Cell& cell = all[i];
    if (isOpen(cell.answer)) {
      ++left;
      continue;
    }
    ++compared;
    EXPECT_EQ(cell.answer.error, errors[i])
        << cell.operation << " " << cell.target << ": the kernel says " << strerrorname_np(errors[i])
        << ", explain " << described(cell.answer);
    // Success alone is no proof: it may be another peer of the same name.
    if (cell.listener >= 0) {
      EXPECT_EQ(cell.answer.allowed, MatrixWorld::heard(cell.listener)) << cell.target;
    } else {
      EXPECT_EQ(cell.answer.allowed, errors[i] == 0) << cell.operation << " " << cell.target;
    }
  }
  RecordProperty("cells", static_cast<int>(compared));
  std::cout << GetParam().name << ": " << compared << " cells compared, " << left << " left open\n";
  EXPECT_GE(compared, 400U);  // five variants: 2,000 and more
  EXPECT_LT(left, compared / 50);
}

INSTANTIATE_TEST_SUITE_P(Profiles, CommandMatrix, testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(variant.param.name); });

}  // namespace
}  // namespace factionos::test
