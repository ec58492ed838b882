// What others put into a workspace against the file family: below .factionos, beside a file, or as a secret
// that is read bit by bit.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "file_agent.h"

namespace factionos::test {
namespace {

// What lies below .factionos is whatever somebody put there: a checkout, the user, a tool of theirs.
class Kept {
 public:
  explicit Kept(const LiveBroker& broker) : folder_(broker.workspace() + "/.factionos/kept/") {}

  std::string record(const std::string& action) const { return contentOf(folder_ + action + "/record"); }
  void write(const std::string& action, const std::string& record) const {
    std::filesystem::create_directories(folder_ + action);
    std::ofstream(folder_ + action + "/record") << record;
    std::ofstream(folder_ + action + "/done");
  }
  // A copy that is as good as `action`'s in itself.
  void forge(const std::string& action, const std::string& as) const {
    write(as, with(record(action), "action ", as));
    std::filesystem::copy_file(folder_ + action + "/content", folder_ + as + "/content");
    std::filesystem::permissions(folder_ + as + "/content", std::filesystem::perms(0644));
  }
  static std::string with(std::string record, const std::string& field, const std::string& value) {
    const auto from = record.find("\n" + field) + 1 + field.size();
    return record.replace(from, record.find('\n', from) - from, value);
  }

 private:
  std::string folder_;
};

TEST(FileFamily, WhatTheBrokerDidNotKeepIsNotBroughtBackAndNotListed) {
  LiveBroker broker({.policy = kAllowed});
  Agent agent(broker);
  const Kept kept(broker);
  const auto file = broker.workspace() + "/f";
  std::ofstream(file) << "one";
  std::filesystem::permissions(file, std::filesystem::perms(0755));
  const auto id = agent.change("delete", R"("path":"f")", "k1").at("/action/id");
  const auto good = kept.record(id);
  const auto bring = [&](const std::string& path, const std::string& entry) {
    const std::string named = entry.empty() ? "" : R"(,"entry":")" + entry + "\"";
    return agent.change("restore", R"("path":")" + path + "\"" + named, uniqueKey());
  };
  struct Lie {
    const char* field;
    const char* value;
    const char* path;
  };
  for (const Lie& lie : {Lie{"mode ", "511", "f"}, Lie{"mode ", "2541", "f"}, Lie{"path ", "67", "g"},
                         Lie{"before ", "none", "f"}, Lie{"operation ", "x y", "f"}}) {
    kept.write(id, Kept::with(good, lie.field, lie.value));
    EXPECT_EQ(bring(lie.path, id).code(),
              lie.field == std::string("before ") ? "invalid_request" : "not_found")
        << lie.field << lie.value;
    EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/" + lie.path)) << lie.field;
    EXPECT_EQ(agent.ask("diff", R"("path":"f","entry":")" + id + R"(","detail":true)").body.find("one"),
              std::string::npos);
    EXPECT_EQ(agent.ask("list", R"("kept":true)").at("/skipped"), "1") << lie.field;
  }
  kept.write(id, good);
  const std::string newest = "act_7ZM8PCVB0RJWZWW4ATBXYZRXHG";
  kept.forge(id, newest);
  kept.write("act_zzzzzzzzzzzzzzzzzzzzzzzz", "planted");
  EXPECT_EQ(bring("f", newest).code(), "not_found") << "no action of ours";
  const auto list = agent.ask("list", R"("kept":true)");
  EXPECT_EQ(list.at("/entries/0/entry"), id) << list.body;
  EXPECT_EQ(list.at("/skipped"), "2") << list.body;
  EXPECT_NE(agent.ask("diff", R"("path":"f","detail":true)").at("/changes/text").find("+one"),
            std::string::npos);
  EXPECT_EQ(bring("f", "").status, 200) << "the newest is the newest of ours";
  EXPECT_EQ(contentOf(file), "one");
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0755));
  EXPECT_EQ(broker.log().find("worker_misbehaved"), std::string::npos);
}

TEST(FileFamily, AnApprovedActionsIdIsNoNameThatSomebodyCanTakeFirst) {
  LiveBroker broker;
  Agent agent(broker);
  const std::string write = R"("path":"f","content":"x")";
  const auto id = agent.change("write", write, "k1").at("/action/id");
  std::filesystem::create_directory(broker.workspace() + "/.factionos-" + id);
  ASSERT_EQ(broker.approve(id).status, 0);
  EXPECT_EQ(agent.change("write", write, "k1", Agent::approval(id)).status, 200);
  EXPECT_EQ(contentOf(broker.workspace() + "/f"), "x");
}

TEST(FileFamily, ASecretIsMaskedInWhateverPiecesItIsRead) {
  LiveBroker broker;
  Agent agent(broker);
  const std::string token = std::string(18, 'a') + std::string(18, '7');
  const std::string key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + std::string(32, 'q');
  const std::string text = std::string(70'000, '.') + "\ntoken=ghp_" + token + "\nAKIAIOSFODNN7EXAMPLE\n" +
                           "-----BEGIN PRIVATE KEY-----\n" + key + "\n-----END PRIVATE KEY-----\nrest\n";
  std::ofstream(broker.workspace() + "/f") << text;
  std::string all;
  for (std::size_t from = 69'995; from < text.size(); from += 4) {
    const auto piece = agent.ask("read", R"("path":"f","length":4,"offset":)" + std::to_string(from));
    ASSERT_EQ(piece.status, 200) << piece.body;
    all += piece.at("/content/text");
    EXPECT_EQ(piece.at("/content/bytes"), std::to_string(std::min<std::size_t>(4, text.size() - from)));
  }
  for (const std::string& secret : {token.substr(0, 6), token.substr(30), key.substr(0, 6), key.substr(58),
                                    std::string("OSFODN"), std::string("EXAMPLE")})
    EXPECT_EQ(all.find(secret), std::string::npos) << secret << all;
  const auto base64 = agent.ask("read", R"("path":"f","encoding":"base64","length":9,"offset":)" +
                                            std::to_string(text.find(token) + 3));
  EXPECT_EQ(base64.at("/content/exact"), "false") << base64.body;
  EXPECT_EQ(base64.at("/content/base64"), "W21hc2tlZDpnaXRodWJfdG9rZW5d") << "the marker alone";
  const auto rest =
      agent.ask("read", R"("path":"f","length":9,"offset":)" + std::to_string(text.find("rest\n")));
  EXPECT_EQ(rest.at("/content/text"), "rest\n") << rest.body;
  EXPECT_EQ(rest.at("/content/exact"), "true");
  EXPECT_EQ(rest.at("/content/end"), "true");
}

}  // namespace
}  // namespace factionos::test
