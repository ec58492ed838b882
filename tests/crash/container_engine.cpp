#include "tests/crash/container_engine.h"

#include <chrono>
#include <cstdio>

#include <simdjson.h>

namespace factionos::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(15);
const std::string kStranger(64, 'f');
constexpr const char* kStrangerBody =
    R"({"Labels":{"org.factionos.managed":"1","org.factionos.instance":"other","org.factionos.run":"run_x",)"
    R"("org.factionos.action":"act_x","org.factionos.owner-pid":"1","org.factionos.owner-start":"1",)"
    R"("org.factionos.proof":"x"},"HostConfig":{}})";
constexpr const char* kImage =
    R"({"Id":"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",)"
    R"("Config":{"Labels":{"org.factionos.version":"1","org.factionos.providers":"claude"}}})";

std::string partOf(const std::string& body, std::string_view path) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::element part;
  if (parser.parse(body).get(root) != simdjson::SUCCESS ||
      root.at_pointer(path).get(part) != simdjson::SUCCESS)
    return "{}";
  return std::string(simdjson::minify(part));
}

}  // namespace

KeepingEngine::KeepingEngine() {
  boxes_[kStranger] = {.body = kStrangerBody, .state = "running"};
  names_["factionos-act-x"] = kStranger;
  engine_.on("GET /images/factionos-isolated:latest/json", [](const Call& call) { call.reply(200, kImage); });
  engine_.on("GET /containers/json", [this](const Call& call) { call.reply(200, listed()); });
  engine_.on("POST /containers/create", [this](const Call& call) { create(call); });
  engine_.on("POST /containers/ID/attach", [this](const Call& call) { attach(call); });
  engine_.on("POST /containers/ID/wait", [this](const Call& call) { wait(call); });
  for (const char* what : {"GET /containers/ID/json", "POST /containers/ID/start", "POST /containers/ID/kill",
                           "DELETE /containers/ID"})
    engine_.on(what, [this, what](const Call& call) { change(call, what); });
}

void KeepingEngine::stopAt(Place place) {
  const std::lock_guard lock(mutex_);
  place_ = std::move(place);
  stop_ = Stop::kWanted;
}

bool KeepingEngine::stopped() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [this]() { return stop_ == Stop::kReached; });
}

void KeepingEngine::goOn() {
  const std::lock_guard lock(mutex_);
  stop_ = Stop::kNone;
  changed_.notify_all();
}

void KeepingEngine::goOnWithIt() {
  const std::lock_guard lock(mutex_);
  stop_ = Stop::kDone;
  changed_.notify_all();
}

// True: here it stood, and nobody is left to hear more.
bool KeepingEngine::standsStill(const Call& call, const std::string& what, When when) {
  std::unique_lock lock(mutex_);
  if (stop_ != Stop::kWanted || place_.call != what || place_.when != when) return false;
  stop_ = Stop::kReached;
  changed_.notify_all();
  while (stop_ == Stop::kReached && !*call.ending) changed_.wait_for(lock, std::chrono::milliseconds(50));
  return stop_ != Stop::kDone;
}

KeepingEngine::Box* KeepingEngine::find(const std::string& which) {
  const auto name = names_.find(which);
  const auto box = boxes_.find(name == names_.end() ? which : name->second);
  return box == boxes_.end() ? nullptr : &box->second;
}

std::string KeepingEngine::stateOf(const std::string& which) {
  const std::lock_guard lock(mutex_);
  const auto* box = find(which);
  return box == nullptr ? "gone" : box->state;
}

std::string KeepingEngine::inspected(const std::string& id, const Box& box) const {
  return R"({"Id":")" + id + R"(","Image":)" + partOf(kImage, "/Id") + R"(,"Config":)" + box.body +
         R"(,"HostConfig":)" + partOf(box.body, "/HostConfig") + R"(,"Mounts":[],"State":{"Status":")" +
         box.state + R"(","ExitCode":)" + std::to_string(box.exitCode) + R"(,"OOMKilled":false}})";
}

std::string KeepingEngine::listed() {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (const auto& [id, box] : boxes_)
    all += (all.empty() ? "" : ",") + (R"({"Id":")" + id) + R"(","State":")" + box.state + R"(","Labels":)" +
           partOf(box.body, "/Labels") + "}";
  return "[" + all + "]";
}

void KeepingEngine::create(const Call& call) {
  const std::string what = "POST /containers/create";
  if (standsStill(call, what, When::kBefore)) return;
  const std::string name = call.query.substr(call.query.find('=') + 1);
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    if (names_.contains(name)) return call.reply(409, R"({"message":"taken"})");
    char text[65];
    std::snprintf(text, sizeof text, "%064zx", ++made_);
    id = text;
    names_[name] = id;
    boxes_[id] = {.body = call.body};
  }
  if (!standsStill(call, what, When::kAfter)) call.reply(201, R"({"Id":")" + id + R"(","Warnings":[]})");
}

// What is asked of one that is there. "/bin/brief" has ended as soon as it has started; "/bin/stay" ends when
// it is told to.
void KeepingEngine::change(const Call& call, const std::string& what) {
  if (standsStill(call, what, When::kBefore)) return;
  std::string answer;
  int status = 204;
  {
    const std::lock_guard lock(mutex_);
    auto* box = find(call.which);
    if (box == nullptr) return call.reply(404, R"({"message":"No such container"})");
    touched_ = touched_ || (box == &boxes_[kStranger] && call.method != "GET");
    if (call.method == "GET") {
      status = 200;
      const auto name = names_.find(call.which);
      answer = inspected(name == names_.end() ? call.which : name->second, *box);
    } else if (call.method == "DELETE") {
      boxes_.erase(names_.contains(call.which) ? names_[call.which] : call.which);
      std::erase_if(names_, [this](const auto& each) { return !boxes_.contains(each.second); });
    } else if (call.path.ends_with("/start")) {
      ++starts_;
      box->state = box->body.find("/bin/brief") == std::string::npos ? "running" : "exited";
    } else if (box->state != "running") {
      status = 409;
      answer = R"({"message":"is not running"})";
    } else {
      box->state = "exited";
      box->exitCode = 143;
    }
  }
  if (!standsStill(call, what, When::kAfter)) call.reply(status, answer);
}

void KeepingEngine::attach(const Call& call) {
  if (standsStill(call, "POST /containers/ID/attach", When::kBefore)) return;
  call.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
  while (!*call.ending && stateOf(call.which) == "created") call.pause(10);
  call.send(frame(1, "said\n"));
  if (standsStill(call, "output", When::kAfter)) return;
  while (!*call.ending && stateOf(call.which) == "running") call.pause(10);
}

void KeepingEngine::wait(const Call& call) {
  if (standsStill(call, "POST /containers/ID/wait", When::kBefore)) return;
  call.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
  for (auto state = stateOf(call.which); !*call.ending && (state == "created" || state == "running");
       state = stateOf(call.which))
    call.pause(10);
  call.send("{\"StatusCode\":0}");
}

std::size_t KeepingEngine::count() {
  const std::lock_guard lock(mutex_);
  return boxes_.size() - (boxes_.contains(kStranger) ? 1U : 0U);
}

std::size_t KeepingEngine::looks() {
  return engine_.calls("GET /containers/json");
}

std::size_t KeepingEngine::starts() {
  const std::lock_guard lock(mutex_);
  return starts_;
}

bool KeepingEngine::strangerStands() {
  const std::lock_guard lock(mutex_);
  return !touched_ && boxes_.contains(kStranger) && boxes_[kStranger].state == "running";
}

}  // namespace factionos::test
