// A configuration's text, and what of it is passed on.
#include <gtest/gtest.h>

#include "workers/git/config_view.h"

namespace factionos::git {
namespace {

std::string dump(std::string_view text) {
  const auto entries = readConfigText(text);
  if (!entries) return "refused";
  std::string out;
  for (const ConfigEntry& entry : *entries)
    out += entry.key + (entry.hasValue ? "=" + entry.value : std::string()) + ";";
  return out;
}

std::string refusedBy(std::string_view text, Kind kind = Kind::kMain) {
  try {
    viewOf(readConfigText(text).value(), kind);
    return "";
  } catch (const Refusal& refusal) {
    return std::string(refusal.rule);
  }
}

TEST(GitConfigText, IsReadAsGitReadsIt) {
  EXPECT_EQ(dump("[core]\n\tbare = false\n"), "core.bare=false;");
  EXPECT_EQ(dump("\xef\xbb\xbf[Core]\nFileMode\n"), "core.filemode;");
  EXPECT_EQ(dump("[remote \"My Origin\"] url = a b # comment\n"), "remote.My Origin.url=a b;");
  EXPECT_EQ(dump("[remote.Dotted]\nurl=x"), "remote.dotted.url=x;");
  EXPECT_EQ(dump("[a \"q\\\"u\\\\o\"]\nb=c\n"), "a.q\"u\\o.b=c;");
  EXPECT_EQ(dump("[a]\nb = \" kept \" dropped\t\n"), "a.b= kept  dropped;");
  EXPECT_EQ(dump("[a]\nb = one \\\n two\n"), "a.b=one  two;");
  EXPECT_EQ(dump("[a]\nb = x\\n\\t\\\"\\\\\n"), "a.b=x\n\t\"\\;");
  EXPECT_EQ(dump("[a]\nb = \"#;\" ; c\n"), "a.b=#;;");
  EXPECT_EQ(dump("[a]\r\nb = c\r\n"), "a.b=c;");
  EXPECT_EQ(dump("[a]b=c\n"), "a.b=c;");
  EXPECT_EQ(dump(""), "");
}

TEST(GitConfigText, WhatGitRefusesIsRefused) {
  for (const char* text : {"[core\n", "b = c\n", "[a]\n1b = c\n", "[a]\nb c\n", "[a]\nb = \"open\n",
                           "[a]\nb = \\x\n", "[a \"open]\nb=c\n", "[]\nb=c\n", "[a] ]\n", "[a\"b\"]\nc=d\n"})
    EXPECT_EQ(dump(text), "refused") << text;
}

TEST(GitConfigView, PassesOnDataAlone) {
  const auto view = viewOf(
      readConfigText(
          "[core]\n\tfsmonitor = x\n\tautocrlf = input\n\thooksPath = y\n\tprotectNTFS = false\n"
          "[remote \"origin\"]\n\turl = /srv/x\n\tuploadpack = z\n[branch \"m\"]\n\tmerge = refs/heads/m\n"
          "[include]\n\tpath = /etc/passwd\n[filter \"x\"]\n\tclean = y\n[alias]\n\tx = !y\n")
          .value(),
      Kind::kMain);
  std::string keys;
  for (const ConfigEntry& entry : view.entries) keys += entry.key + "=" + entry.value + ";";
  EXPECT_EQ(keys,
            "core.autocrlf=input;remote.origin.url=/srv/x;branch.m.merge=refs/heads/m;"
            "core.protecthfs=true;core.protectntfs=true;core.logallrefupdates=false;");
}

TEST(GitConfigView, RefusesByName) {
  EXPECT_EQ(
      refusedBy("[core]\nrepositoryformatversion = 1\n[extensions]\nnoop = x\npreciousObjects = true\n"), "");
  EXPECT_EQ(refusedBy("[core]\nrepositoryformatversion = 2\n"), "format_version");
  EXPECT_EQ(refusedBy("[extensions]\nrefStorage = reftable\n"), "reftable");
  EXPECT_EQ(refusedBy("[extensions]\nobjectFormat = sha256\n"), "object_format");
  EXPECT_EQ(refusedBy("[extensions]\npartialClone = origin\n"), "partial_clone");
  EXPECT_EQ(refusedBy("[remote \"o\"]\npromisor\n"), "partial_clone");
  EXPECT_EQ(refusedBy("[extensions]\nother = 1\n"), "unknown_extension");
  EXPECT_EQ(refusedBy("[index]\nsparse = true\n"), "sparse_index");
  EXPECT_EQ(refusedBy("[core]\nbare = true\n"), "bare");
  EXPECT_EQ(refusedBy("[core]\nbare = true\n", Kind::kLinked), "");
}

}  // namespace
}  // namespace factionos::git
