// May a process inside of this policy do that? Answered from the policy's value, without entering it, with
// the row that decides. A matrix compares the answers with the kernel's (tests/denial/explain).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sandbox/explain/view.h"
#include "sandbox/policy.h"

namespace factionos::sandbox::explain {

enum class Operation : std::uint8_t {
  kRead,    // open a file for reading, or a directory for listing
  kWrite,   // open what exists for writing
  kCreate,  // make a regular file where nothing is
  kExecute,
  kConnect,
};

// What decides.
enum class Layer : std::uint8_t {
  kNone,  // allowed, and no row had to say so
  kSeccomp,
  kLandlock,
  kMounts,      // not mounted, or mounted read-only, without programs or devices
  kNamespace,   // of its own: what is meant is not in it
  kSupervisor,  // that carries the call out itself
  kSystem,      // no rule of ours: it is missing, file modes forbid it, or it is of another kind
};

struct Answer {
  bool allowed = false;
  int error = 0;      // the errno that the process sees; 0 if allowed, if the call ends the process, or if it
                      // reaches something else of the same name
  bool ends = false;  // the call ends the process
  Layer layer = Layer::kNone;
  std::string rule = {};    // which row
  std::string reason = {};  // the row's own, or what stands for it
};

struct TcpPort {
  std::uint16_t port = 0;
  bool loopback = true;  // an address of this machine's loopback
  bool version6 = false;
};
struct UdpPort {
  std::uint16_t port = 0;
  bool loopback = true;
  bool version6 = false;
};
struct UnixPath {
  std::string path;  // absolute
};
struct AbstractName {
  std::string name;
};
using Peer = std::variant<TcpPort, UdpPort, UnixPath, AbstractName>;

// How a rule's path is called in an answer: a person's paths belong on no screen.
struct Spoken {
  std::string path;
  std::string name;  // "the workspace"
};

// What a supervisor says to a call that it carries out itself, before the kernel is asked.
struct Supervised {
  int error = 0;
  std::string rule;
  std::string reason;
};

// What the policy is entered in.
struct Scene {
  Policy policy;
  NamespacePosture namespaces;
  int landlockAbi = 0;
  std::vector<MadeLater> made;
  std::vector<Spoken> spoken;
  // Of kWrite and kCreate, on a real path, whose last part may be missing; nothing: the kernel decides. Null:
  // there is none.
  std::function<std::optional<Supervised>(Operation, const std::string&)> supervisor = {};
};

class Explainer {
 public:
  explicit Explainer(Scene scene);
  Explainer(const Explainer&) = delete;
  Explainer& operator=(const Explainer&) = delete;

  // Any operation but kConnect, on an absolute path. File modes are asked of the kernel for the user who
  // asks.
  [[nodiscard]] Answer file(Operation operation, const std::string& path) const;
  // Whether somebody listens there, and whether the network leads there, is not looked at.
  [[nodiscard]] Answer connect(const Peer& peer) const;

 private:
  struct Check;
  struct Granted {
    Identity identity;
    const FileRule* rule;
  };

  [[nodiscard]] Check call(int number, std::initializer_list<std::uint64_t> arguments) const;
  [[nodiscard]] Check rights(const std::string& real, Access wanted) const;
  [[nodiscard]] Check supervised(Operation operation, const Place& place) const;
  [[nodiscard]] Check walked(const Place& place) const;
  [[nodiscard]] Check asMounted(Operation operation, const Place& place) const;
  [[nodiscard]] Check otherProcess(const Place& place) const;
  [[nodiscard]] std::vector<Check> opening(Operation operation, const Place& place) const;
  [[nodiscard]] std::vector<Check> creating(const Place& place) const;
  [[nodiscard]] std::vector<Check> executing(const Place& place, int depth) const;
  [[nodiscard]] std::vector<Check> interpreting(const Place& place, int depth) const;
  [[nodiscard]] std::vector<Check> internet(int type, std::uint16_t port, bool loopback, bool version6) const;
  [[nodiscard]] std::vector<Check> unixSocket(const Peer& peer) const;
  [[nodiscard]] std::string spoken(const std::string& path) const;
  [[nodiscard]] static Answer settle(const std::vector<Check>& checks);

  Scene scene_;
  View view_;
  std::vector<Granted> granted_;
};

// "read, execute": the rights as words.
std::string rightsText(Access access);
std::string_view nameOf(Layer layer);

}  // namespace factionos::sandbox::explain
