#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/redaction/shapes.h"
#include "tests/unit/redaction/masking.h"

namespace factionos::redaction::testing {
namespace {

using ::testing::HasSubstr;

// One token of a public format, put together here so that the source holds none.
struct Sample {
  std::string label;
  std::string shown;   // what stays visible
  std::string secret;  // what must not
  std::string after;   // what ends it
};

std::string an(std::size_t n) {
  return body(n, kAlnumChars, 3);
}
std::string hex(std::size_t n) {
  return body(n, kHexChars, 3);
}
std::string upper(std::size_t n) {
  return body(n, kUpperChars, 3);
}
std::string url(std::size_t n) {
  return body(n, kUrlChars, 3);
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const auto add = [&all](std::string label, const std::vector<std::string>& prefixes,
                          const std::string& secret, const std::string& after = " ") {
    for (const std::string& prefix : prefixes) all.push_back({label, prefix, secret, after});
  };
  add("aws_access_key_id", {"AKIA", "ASIA", "ABIA", "ACCA", "A3TX"}, upper(16));
  add("aws_bedrock_key", {"ABSK"}, an(120));
  add("factionos_token", {"fos_"}, url(43));
  add("github_token", {"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, an(36));
  add("github_token", {"ghs_"}, "eyJ" + url(100) + "." + url(200) + "." + url(100));
  add("github_pat", {"github_pat_"}, an(22) + "_" + an(59));
  add("gitlab_token",
      {"glpat-", "gldt-", "glrt-", "glft-", "glsoat-", "glffct-", "glcbt-", "glptt-", "glimt-", "glagent-",
       "gloas-"},
      url(40));
  add("gitlab_token", {"glpat-"}, url(27) + "." + an(9));
  add("gitlab_runner_token", {"GR1348941"}, url(20));
  add("slack_token", {"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xoxp-", "xapp-"},
      "1234567890-1234567890-" + an(24));
  add("slack_webhook", {"https://hooks.slack.com/services/"},
      "T" + upper(8) + "/B" + upper(8) + "/" + an(24));
  add("stripe_key", {"sk_live_", "rk_live_", "sk_test_", "sk_prod_"}, an(24));
  add("openai_key", {"sk-proj-", "sk-svcacct-", "sk-admin-"}, url(60) + "T3BlbkFJ" + url(60));
  add("openai_key", {"sk-"}, an(20) + "T3BlbkFJ" + an(20));
  add("anthropic_key", {"sk-ant-"}, "api03-" + url(93) + "AA");
  add("anthropic_key", {"sk-ant-"}, "admin01-" + url(93) + "AA");
  add("google_api_key", {"AIza"}, url(35));
  add("google_oauth_token", {"ya29."}, url(120));
  add("google_client_secret", {"GOCSPX-"}, url(28));
  add("npm_token", {"npm_"}, an(36));
  add("pypi_token", {"pypi-AgEI"}, "cHlwaS5vcmc" + url(120));
  add("rubygems_key", {"rubygems_"}, hex(48));
  add("nuget_key", {"oy2"}, hex(43));
  add("docker_token", {"dckr_pat_", "dckr_oat_"}, url(32));
  add("huggingface_token", {"hf_", "api_org_"}, body(34, "abcdefghijklmnopqrstuvwxyzABCDEFGH", 3));
  add("groq_key", {"gsk_"}, an(52));
  add("xai_key", {"xai-"}, an(80));
  add("replicate_token", {"r8_"}, an(37));
  add("nvidia_key", {"nvapi-"}, url(64));
  add("langsmith_key", {"lsv2_pt_", "lsv2_sk_"}, hex(32) + "_" + hex(10));
  add("perplexity_key", {"pplx-"}, an(48));
  add("elevenlabs_key", {"sk_"}, hex(48));
  add("tailscale_key", {"tskey-auth-", "tskey-api-"}, an(12) + "-" + an(32));
  add("digitalocean_token", {"dop_v1_", "doo_v1_", "dor_v1_"}, hex(64));
  add("vault_token", {"hvs.", "hvb."}, url(100));
  add("vault_token", {"s."}, an(24));
  add("terraform_token", {body(14, kUpperChars, 8) + ".atlasv1."}, url(64));
  add("databricks_token", {"dapi"}, hex(32) + "-2");
  add("doppler_token", {"dp.pt."}, an(43));
  add("linear_key", {"lin_api_"}, an(40));
  add("notion_token", {"ntn_", "secret_"}, an(46));
  add("figma_token", {"figd_", "figp_"}, url(40));
  add("airtable_token", {"pat" + an(14) + "."}, hex(64));
  add("sentry_token", {"sntrys_", "sntryu_"}, an(100));
  add("grafana_token", {"glsa_"}, an(32) + "_" + hex(8));
  add("grafana_token", {"glc_"}, an(100) + "==");
  add("newrelic_key", {"NRAK-"}, upper(27));
  add("planetscale_token", {"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, url(43));
  add("postman_key", {"PMAK-"}, hex(24) + "-" + hex(34));
  add("prefect_key", {"pnu_"}, an(36));
  add("pulumi_token", {"pul-"}, hex(40));
  add("sendgrid_key", {"SG."}, url(22) + "." + url(43));
  add("mailgun_key", {"key-"}, hex(32));
  add("mailchimp_key", {"012345"}, hex(26) + "-us12");
  add("twilio_key", {"SK", "AC"}, hex(32));
  add("shopify_token", {"shpat_", "shpca_", "shppa_", "shpss_"}, hex(32));
  add("square_token", {"sq0atp-", "sq0csp-"}, url(43));
  add("square_token", {"EAAA"}, url(60));
  add("telegram_token", {"1234567890:A"}, url(34));
  add("discord_token", {"M" + body(23, kUpperChars, 8) + ".QWERTY."}, url(38));
  add("heroku_key", {"HRKU-"}, "AA" + url(58));
  add("fly_token", {"fo1_", "fm1_", "fm2_"}, url(43));
  add("cloudflare_token", {"cfut_", "cfat_"}, an(48));
  add("cloudflare_origin_ca", {"v1.0-"}, hex(24) + "-" + hex(146));
  add("circleci_token", {"CCIPAT_"}, an(22) + "_" + hex(40));
  add("buildkite_token", {"bkua_"}, hex(40));
  add("netlify_token", {"nfp_"}, an(36));
  add("supabase_token", {"sbp_"}, hex(40));
  add("onepassword_key", {"A3-ABCDEF-"},
      upper(6) + "-" + upper(5) + "-" + upper(5) + "-" + upper(5) + "-" + upper(5));
  add("onepassword_token", {"ops_eyJ"}, an(250));
  add("age_key", {"AGE-SECRET-KEY-1"}, upper(58));
  add("azure_client_secret", {"ab38Q~"}, url(34));
  add("azure_storage_key", {"AccountKey="}, an(86) + "==");
  add("artifactory_token", {"AKCp"}, an(69));
  add("artifactory_token", {"cmVmd"}, an(59));
  add("atlassian_token", {"ATATT3"}, url(180) + "=" + upper(8));
  add("dynatrace_token", {"dt0c01."}, upper(24) + "." + upper(64));
  add("sourcegraph_token", {"sgp_"}, hex(16) + "_" + hex(40));
  add("openshift_token", {"sha256~"}, url(43));
  add("infracost_key", {"ico-"}, an(32));
  add("maxmind_key", {an(6) + "_"}, body(29, kAlnumChars, 4) + "_mmk");
  add("alibaba_key", {"LTAI"}, an(20));
  add("harness_token", {"pat." + body(22, kUpperChars, 8) + ".", "sat." + body(22, kUpperChars, 8) + "."},
      hex(24) + "." + an(20));
  add("octopus_key", {"API-"}, upper(26));
  add("readme_key", {"rdme_"}, an(70));
  add("typeform_token", {"tfp_"}, url(59));
  add("jwt", {"eyJ"}, an(33) + "." + "eyJ" + url(60) + "." + url(43));
  add("url_password", {"https://user:", "postgres://admin:", "redis://:"}, "hunter2-" + an(6), "@host/x");
  add("url_token", {"https://h/p?private_token=", "/x?a=1&X-Amz-Signature="}, hex(64));
  add("authorization", {"Authorization: Bearer ", "authorization: Basic ", "'Authorization: token "}, an(24),
      "\r\n");
  add("authorization", {"X-Api-Key: "}, an(32), "\r\n");
  add("authorization", {"Bearer "}, an(32), "\r\n");
  add("curl_user", {"curl -u admin:", "curl -s --user admin:"}, "hunter2-x", " https://h\n");
  add("credential", {"api_key = ", "export DB_PASSWORD=", "\"clientSecret\": \"", "token: "}, an(24), "\"\n");
  return all;
}

TEST(MaskerShapes, EveryFormatIsMaskedAndNamed) {
  for (const Sample& sample : samples()) {
    const std::string out = maskAll("x " + sample.shown + sample.secret + sample.after + "y\n");
    EXPECT_THAT(out, HasSubstr("[masked:" + sample.label + "]")) << sample.shown;
    EXPECT_LT(longestLeak(out, sample.secret), 5U) << sample.shown << " -> " << out;
    EXPECT_THAT(out, HasSubstr(sample.after + "y\n")) << sample.shown;
  }
}

TEST(MaskerShapes, EveryFormatIsMaskedAtEveryCut) {
  for (const Sample& sample : samples()) {
    const std::string raw = "x " + sample.shown + sample.secret + sample.after + "y\n";
    const std::string whole = maskAll(raw);
    Stream bytewise;
    for (const char c : raw) bytewise.feed({&c, 1});
    ASSERT_EQ(bytewise.finish().text(), whole) << sample.shown;
  }
}

TEST(MaskerShapes, NoFormatIsShownInPartAroundAGap) {
  for (const Sample& sample : samples()) {
    const std::string raw = "x " + sample.shown + sample.secret + sample.after + "y\n";
    const std::size_t end = raw.size() - sample.after.size() - 2;
    for (std::size_t from = 0; from < end; ++from) {
      Stream stream;
      stream.feed(raw.substr(0, from)).gap(1).feed(raw.substr(from + 1) + "and so it goes on\n").finish();
      ASSERT_LT(longestLeak(stream.text(), sample.secret), 5U) << sample.shown << " " << from;
    }
  }
}

TEST(MaskerShapes, EveryRowOfTheTableHasASample) {
  std::set<std::string> sampled;
  for (const Sample& sample : samples()) sampled.insert(sample.label);
  std::set<std::string_view> labels;
  for (const Shape& shape : shapes()) {
    labels.insert(shape.label);
    const bool elsewhere =
        shape.label == "private_key" || shape.label == "openrouter_key" || shape.label == "stripe_webhook";
    EXPECT_TRUE(elsewhere || sampled.contains(std::string(shape.label))) << shape.label;
  }
  EXPECT_GT(labels.size(), 70U);
  EXPECT_EQ(maskAll("sk-or-v1-" + hex(64)), "sk-or-v1-[masked:openrouter_key]");
  EXPECT_EQ(maskAll("whsec_" + an(32)), "whsec_[masked:stripe_webhook]");
}

TEST(MaskerShapes, OrdinaryTextIsNotMasked) {
  for (const std::string_view text : {
           "http://localhost:3000/ http://127.0.0.1:8080\n",
           "git@github.com:owner/repo.git ssh://git@h:22/x\n",
           "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 (HEAD -> main)\n",
           "d41d8cd98f00b204e9800998ecf8427e  empty\n",
           "npm_config_registry=https://registry.npmjs.org/\n",
           "pip install scikit-learn sk-learn huggingface_hub hf_transfer\n",
           "key: value\ntoken: abc\npassword:\n",
           "Bearer of good news; Basic usage: see the manual\n",
           "should_do_this_and_that_and_the_other_thing_too\n",
           "AC SK API-KEY key-value pat.ch s.toString() SG.x\n",
           "secret: {name: foo}\nkeyboard: us\n",
           "docker run -u 1000:1000 image:tag\n",
           "eyJhIjoxfQ==\n",
           "ACCADEMIA SKELETON AKIA\n",
           "PWD=/home/dev/x7Qz-Kw9Lm2\nOLDPWD=/home/dev/x7Qz-Kw9Lm2\n",
           "declare -x PWD=\"/home/dev/x7Qz-Kw9Lm2\"\n",
           "TMPDIR=/home/u/.factionos/run/scratch/tmp-0a1b2c3d4e/tmp "
           "HOME=/home/u/.factionos/run/scratch/tmp-1234567890/home\n",
       }) {
    EXPECT_EQ(maskAll(text), text);
  }
}

TEST(MaskerShapes, OnlyTheShellsWorkingDirectoriesAreNoCredentials) {
  for (const std::string_view name :
       {"pwd=", "DB_PWD=", "MYPWD=", "x-PWD=", "PWD:", "Pwd=", "PWD_X=", "oldpwd=", "MYOLDPWD="}) {
    const std::string secret = "/" + body(24, kAlnumChars, 3);
    EXPECT_THAT(maskAll(std::string(name) + secret + "\n"), HasSubstr("[masked:credential]")) << name;
  }
  EXPECT_EQ(maskAll("PWD=" + body(24, kAlnumChars, 3) + "\n"), "PWD=[masked:credential]\n");
  // It speaks for its own value alone.
  EXPECT_EQ(maskAll("PWD=/x token=" + body(24, kAlnumChars, 3) + "\n"), "PWD=/x token=[masked:credential]\n");
}

TEST(MaskerShapes, APauseInAFormatWithoutPrefixIsTheStatedLimit) {
  Stream stream;
  const std::string half = hex(26);
  stream.feed(hex(6) + half).wait(50ms);
  EXPECT_EQ(stream.text(), hex(6) + half);
}

TEST(MaskerShapes, APauseInWeakPrefixShowsItsSafeBytesAtMost) {
  Stream stream;
  const std::string secret = hex(32);
  stream.feed("AC" + secret.substr(0, 20)).wait(50ms).feed(secret.substr(20) + "\n").finish();
  EXPECT_EQ(stream.text(), "AC" + secret.substr(0, 4) + "[masked:twilio_key]\n");
}

TEST(MaskerShapes, APauseAfterAPortShowsIt) {
  Stream stream;
  EXPECT_EQ(stream.feed("http://localhost:3000").wait(50ms).text(), "http://localhost:3000");
  Stream password;
  password.feed("https://user:pass").wait(50ms).feed("word@host\n").finish();
  EXPECT_EQ(password.text(), "https://user:[masked:url_password]@host\n");
}

}  // namespace
}  // namespace factionos::redaction::testing
