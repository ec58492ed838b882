// The file worker's interface, over a workspace with a little of everything. What it must never do is touch
// the directory beside it.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

#include "sandbox/descriptors.h"
#include "tests/fuzz/rpc_peer.h"
#include "tests/fuzz/scratch_folder.h"
#include "workers/file/service.h"

namespace {

using namespace factionos;

const std::string kAction = "act_" + std::string(26, '0');

// Made anew for each input, so that an input does the same whatever came before it.
void fill(const std::string& work) {
  std::ofstream(work + "/f") << "one\ntwo\n";
  std::ofstream(work + "/d/g") << "g";
  std::filesystem::create_symlink("f", work + "/link");
  mkfifo((work + "/fifo").c_str(), 0600);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int ready = sodium_init();
  if (ready < 0) std::abort();
  const rpc::QuietKj quiet;
  const fuzz::TreeAndOutside folder;
  fill(folder.tree());
  const sandbox::Fd workspace = sandbox::openFile(folder.tree().c_str(), O_PATH | O_DIRECTORY);
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::FileWorker>()},
      .named = {{"path",
                 {"f", "d/g", "new", "link", "out/secret", "fifo", "d", "../outside/x", ".git/config"}},
                {"action", {kAction}},
                {"operation", {"write"}},
                {"oldText", {"one", "two\n"}}},
      .handsBack = false};
  fuzz::run(plan, data, size, {.role = rpc::Role::kServer, .maxFdsPerMessage = 0},
            [&]() -> capnp::Capability::Client { return file::makeService(workspace.get()); });
  fuzz::finishJobs();
  folder.mustBeUntouchedOutside();
  return 0;
}
