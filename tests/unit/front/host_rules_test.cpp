#include "workers/front/host_rules.h"

#include <gtest/gtest.h>

namespace factionos::front {
namespace {

HostRules rules() {
  return HostRules({"dev.box", "proxy.example:8443"}, {"https://dash.example:8443"});
}

TEST(HostRules, F1_LoopbackNamesPassWithAnyPort) {
  for (const char* host : {"localhost", "LocalHost:4519", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:65535"})
    EXPECT_EQ(rules().host(host), HostVerdict::kAllowed) << host;
}

TEST(HostRules, F1_NamesThatOnlyLookLikeLoopbackAreRefused) {
  for (const char* host : {"evil.example:4519", "localhost.evil.com", "127.0.0.1.nip.io", "0x7f000001",
                           "2130706433", "localhost6", "127.1", "127.0.0.2", "0.0.0.0", "[::]",
                           "[::ffff:127.0.0.1]", "localhost.", "foo.localhost", "", "[0:0:0:0:0:0:0:1]"})
    EXPECT_EQ(rules().host(host), HostVerdict::kRefused) << host;
}

TEST(HostRules, F1_WhatIsNoHostAtAllIsMalformed) {
  for (const char* host : {"a, b", "localhost:", "localhost:0", "localhost:65536", "localhost:80:80",
                           "localhost:8o", "user@localhost", "localhost/", "http://localhost", "[::1", "[]",
                           "[::1]x", "::1", ":80", "local host", "localhost%00", "\xc3\xa9"})
    EXPECT_EQ(rules().host(host), HostVerdict::kMalformed) << host;
}

TEST(HostRules, ListedHostsAreMatchedWhole) {
  EXPECT_EQ(rules().host("dev.box"), HostVerdict::kAllowed);
  EXPECT_EQ(rules().host("DEV.box:99"), HostVerdict::kAllowed);
  EXPECT_EQ(rules().host("proxy.example:8443"), HostVerdict::kAllowed);
  for (const char* host : {"proxy.example", "proxy.example:8444", "a.dev.box", "dev.box.evil.example"})
    EXPECT_EQ(rules().host(host), HostVerdict::kRefused) << host;
}

TEST(HostRules, F3_OriginsAreOursOrListedAndNothingElse) {
  EXPECT_EQ(rules().origin("http://localhost:4519", "localhost:4519"), OriginVerdict::kSame);
  EXPECT_EQ(rules().origin("https://dash.example:8443", "localhost:4519"), OriginVerdict::kListed);
  for (const char* origin : {"null", "", "https://evil.example", "http://localhost:4520",
                             "https://localhost:4519", "http://127.0.0.1:4519", "https://dash.example",
                             "https://dash.example:8443.evil.example", "https://dash.example:8443/"})
    EXPECT_EQ(rules().origin(origin, "localhost:4519"), OriginVerdict::kRefused) << origin;
}

}  // namespace
}  // namespace factionos::front
