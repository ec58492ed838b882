#include "broker/redaction/shapes.h"

#include "broker/redaction/shape_tracker.h"

namespace factionos::redaction {
namespace {

constexpr bool isOneOf(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

constexpr std::uint16_t membership(unsigned byte) {
  const char c = static_cast<char>(byte);
  const bool digit = c >= '0' && c <= '9';
  const bool upper = c >= 'A' && c <= 'Z';
  const bool lower = c >= 'a' && c <= 'z';
  const bool alnum = digit || upper || lower;
  const bool url = alnum || c == '_' || c == '-';
  const bool visible = byte > 0x20 && byte != 0x7f;
  unsigned bits = 0;
  const auto put = [&bits](bool is, Alphabet alphabet) { bits |= is ? static_cast<unsigned>(alphabet) : 0U; };
  put(digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'), Alphabet::kHex);
  put(digit || upper, Alphabet::kUpper);
  put(digit || lower, Alphabet::kLower);
  put(alnum, Alphabet::kAlnum);
  put(alnum || c == '_', Alphabet::kWord);
  put(url, Alphabet::kUrl);
  put(url || c == '.', Alphabet::kUrlDot);
  put(url || isOneOf(c, "+/="), Alphabet::kBase64);
  put(url || isOneOf(c, "./"), Alphabet::kPath);
  put(url || isOneOf(c, ".~+/=:"), Alphabet::kToken68);
  put(url || isOneOf(c, ".~+/=!@#$%^&*?"), Alphabet::kValue);
  put(visible && !isOneOf(c, "/@\"'`<>"), Alphabet::kUserInfo);
  return static_cast<std::uint16_t>(bits);
}

using enum Alphabet;
using enum ShapeKind;
constexpr auto kAny = Shape::Edge::kAnywhere;
constexpr auto kEdge = Shape::Edge::kWord;

// Distinctive prefixes match anywhere and soon; weak ones ask for a word edge, the full length and often a
// digit. Minimal lengths lie below the published ones, so that a token cut short by its printer is masked as
// well.
constexpr Shape kShapes[] = {
    // clang-format off
    {"aws_access_key_id",   "A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])",         kEdge, kRun, kUpper, 16, kUpper},
    {"aws_bedrock_key",     "ABSK",                                    kEdge, kRun, kBase64, 40, kBase64, Needs::kDigit, 4},
    {"factionos_token",     "fos_",                                    kEdge, kRun, kUrl, 20, kUrl},
    {"github_token",        "gh[pousr]_",                              kAny,  kRun, kUrl, 10, kUrlDot},
    {"github_pat",          "github_pat_",                             kAny,  kRun, kUrl, 10, kUrl},
    {"gitlab_token",        "gl(?:pat|dt|rt|ft|soat|ffct|cbt|ptt|imt|agent|oas)-", kEdge, kRun, kUrl, 10, kUrlDot},
    {"gitlab_runner_token", "GR1348941",                               kEdge, kRun, kUrl, 10, kUrl},
    {"slack_token",         "(?:xox[a-z](?:\\.xox[a-z])?|xapp)-",      kEdge, kRun, kUrl, 8, kUrlDot},
    {"slack_webhook",       "hooks\\.slack\\.com/(?:services|workflows|triggers)/", kAny, kRun, kPath, 8, kPath},
    {"stripe_key",          "(?:sk|rk)_(?:live|test|prod)_",           kAny,  kRun, kAlnum, 8, kUrl},
    {"stripe_webhook",      "whsec_",                                  kAny,  kRun, kBase64, 16, kBase64},
    {"openai_key",          "sk-(?:proj|svcacct|admin|None)-",         kEdge, kRun, kUrl, 12, kUrl},
    {"openai_key",          "sk-",                                     kEdge, kRun, kAlnum, 20, kUrl, Needs::kDigit, 4},
    {"openrouter_key",      "sk-or-v1-",                               kEdge, kRun, kAlnum, 16, kUrl},
    {"anthropic_key",       "sk-ant-",                                 kAny,  kRun, kUrl, 8, kUrl},
    {"google_api_key",      "AIza",                                    kEdge, kRun, kUrl, 20, kUrl},
    {"google_oauth_token",  "ya29\\.",                                 kEdge, kRun, kUrlDot, 16, kUrlDot},
    {"google_client_secret", "GOCSPX-",                                kAny,  kRun, kUrl, 10, kUrl},
    {"npm_token",           "npm_",                                    kEdge, kRun, kAlnum, 20, kAlnum, Needs::kDigit, 4},
    {"pypi_token",          "pypi-AgE[IN]",                            kAny,  kRun, kUrl, 8, kUrl},
    {"rubygems_key",        "rubygems_",                               kAny,  kRun, kHex, 16, kAlnum},
    {"nuget_key",           "oy2",                                     kEdge, kRun, kLower, 40, kLower, Needs::kDigit, 4},
    {"docker_token",        "dckr_[po]at_",                            kAny,  kRun, kUrl, 8, kUrl},
    {"huggingface_token",   "(?:hf|api_org)_",                         kEdge, kRun, kAlnum, 24, kAlnum, Needs::kNothing, 4},
    {"groq_key",            "gsk_",                                    kEdge, kRun, kAlnum, 24, kAlnum},
    {"xai_key",             "xai-",                                    kEdge, kRun, kAlnum, 32, kUrl, Needs::kDigit, 4},
    {"replicate_token",     "r8_",                                     kEdge, kRun, kAlnum, 24, kAlnum, Needs::kDigit, 4},
    {"nvidia_key",          "nvapi-",                                  kEdge, kRun, kUrl, 16, kUrl},
    {"langsmith_key",       "lsv2_(?:pt|sk)_",                         kAny,  kRun, kHex, 16, kWord},
    {"perplexity_key",      "pplx-",                                   kEdge, kRun, kAlnum, 20, kAlnum},
    {"elevenlabs_key",      "sk_",                                     kEdge, kRun, kHex, 40, kAlnum, Needs::kDigit, 4},
    {"tailscale_key",       "tskey-[a-z]{2,12}-",                      kAny,  kRun, kUrl, 8, kUrl},
    {"digitalocean_token",  "do[opr]_v1_",                             kAny,  kRun, kHex, 16, kAlnum},
    {"vault_token",         "hv[sbr]\\.",                              kEdge, kRun, kUrl, 20, kUrlDot},
    {"vault_token",         "s\\.",                                    kEdge, kRun, kAlnum, 24, kAlnum, Needs::kDigit, 4},
    {"terraform_token",     "\\.atlasv1\\.",                           kAny,  kRun, kUrl, 20, kUrl},
    {"databricks_token",    "dapi",                                    kEdge, kRun, kHex, 32, kUrl, Needs::kDigit, 4},
    {"doppler_token",       "dp\\.(?:pt|st|ct|sa|scim|audit)\\.",      kEdge, kRun, kUrlDot, 20, kUrlDot},
    {"linear_key",          "lin_(?:api|oauth)_",                      kEdge, kRun, kAlnum, 16, kAlnum},
    {"notion_token",        "ntn_",                                    kEdge, kRun, kAlnum, 24, kAlnum, Needs::kDigit, 4},
    {"notion_token",        "secret_",                                 kEdge, kRun, kAlnum, 40, kAlnum, Needs::kDigit, 4},
    {"figma_token",         "fig[dpou]_",                              kEdge, kRun, kUrl, 20, kUrl},
    {"airtable_token",      "pat[A-Za-z0-9]{14}\\.",                   kEdge, kRun, kHex, 24, kAlnum},
    {"sentry_token",        "sntry[su]_",                              kAny,  kRun, kBase64, 16, kBase64},
    {"grafana_token",       "glsa_",                                   kEdge, kRun, kWord, 20, kWord},
    {"grafana_token",       "glc_",                                    kEdge, kRun, kBase64, 24, kBase64},
    {"newrelic_key",        "NR(?:AK|JS|II)-",                         kEdge, kRun, kUrl, 16, kUrl},
    {"planetscale_token",   "pscale_(?:tkn|pw|oauth)_",                kAny,  kRun, kUrlDot, 16, kUrlDot},
    {"postman_key",         "PMAK-",                                   kEdge, kRun, kHex, 16, kUrl},
    {"prefect_key",         "pn[ub]_",                                 kEdge, kRun, kAlnum, 30, kAlnum, Needs::kDigit, 4},
    {"pulumi_token",        "pul-",                                    kEdge, kRun, kHex, 32, kAlnum, Needs::kDigit, 4},
    {"sendgrid_key",        "SG\\.",                                   kEdge, kRun, kUrlDot, 24, kUrlDot, Needs::kDot, 4},
    {"mailgun_key",         "key-",                                    kEdge, kRun, kHex, 32, kUrl, Needs::kDigit, 4},
    {"mailchimp_key",       "[0-9a-f]{6}",                             kEdge, kTail, kUrl, 30, kUrl, Needs::kNothing, 0, "-us9"},
    {"twilio_key",          "(?:SK|AC)",                               kEdge, kRun, kHex, 32, kHex, Needs::kDigit, 4},
    {"shopify_token",       "shp(?:at|ca|pa|ss)_",                     kEdge, kRun, kHex, 16, kAlnum},
    {"square_token",        "sq0[a-z]{3}-",                            kEdge, kRun, kUrl, 16, kUrl},
    {"square_token",        "EAAA",                                    kEdge, kRun, kUrl, 50, kUrl, Needs::kDigit, 4},
    {"telegram_token",      "[0-9]{8,10}:A",                           kEdge, kRun, kUrl, 30, kUrl},
    {"discord_token",       "[MNO][A-Za-z0-9_-]{23,25}\\.[A-Za-z0-9_-]{6}\\.", kEdge, kRun, kUrl, 24, kUrl},
    {"heroku_key",          "HRKU-",                                   kEdge, kRun, kUrl, 16, kUrl},
    {"fly_token",           "f(?:o1|m1|m2)_",                          kEdge, kRun, kBase64, 20, kBase64},
    {"cloudflare_token",    "cf(?:ut|at|k)_",                          kEdge, kRun, kAlnum, 24, kUrl},
    {"cloudflare_origin_ca", "v1\\.0-",                                kEdge, kRun, kHex, 20, kUrl, Needs::kDigit, 4},
    {"circleci_token",      "CCIP(?:AT|RJ)_",                          kAny,  kRun, kWord, 12, kWord},
    {"buildkite_token",     "bk(?:ua|ct|et|aj)_",                      kEdge, kRun, kHex, 24, kAlnum},
    {"netlify_token",       "nf[pcou]_",                               kEdge, kRun, kAlnum, 24, kAlnum, Needs::kDigit, 4},
    {"supabase_token",      "sb[ps]_",                                 kEdge, kRun, kHex, 24, kAlnum},
    {"supabase_token",      "sb_secret_",                              kEdge, kRun, kUrl, 16, kUrl},
    {"onepassword_key",     "A3-[A-Z0-9]{6}-",                         kEdge, kRun, kUrl, 16, kUrl},
    {"onepassword_token",   "ops_eyJ",                                 kAny,  kRun, kBase64, 16, kBase64},
    {"age_key",             "AGE-SECRET-KEY-1",                        kAny,  kRun, kUpper, 8, kAlnum},
    {"azure_client_secret", "[A-Za-z0-9_~.]{3}[0-9]Q~",                kEdge, kRun, kToken68, 28, kToken68, Needs::kNothing, 4},
    {"azure_storage_key",   "(?:AccountKey|SharedAccessKey)=",         kAny,  kRun, kBase64, 16, kBase64},
    {"artifactory_token",   "(?:AKCp|cmVmd)",                          kEdge, kRun, kAlnum, 48, kBase64, Needs::kDigit, 4},
    {"atlassian_token",     "AT(?:ATT3|CTT3|BB)",                      kEdge, kRun, kBase64, 20, kBase64, Needs::kDigit, 4},
    {"dynatrace_token",     "dt0[a-z][0-9]{2}\\.",                     kEdge, kRun, kUrlDot, 20, kUrlDot},
    {"sourcegraph_token",   "sgp_",                                    kEdge, kRun, kWord, 32, kWord},
    {"openshift_token",     "sha256~",                                 kEdge, kRun, kUrl, 20, kUrl},
    {"infracost_key",       "ico-",                                    kEdge, kRun, kAlnum, 32, kAlnum, Needs::kDigit, 4},
    {"maxmind_key",         "[A-Za-z0-9]{6}_",                         kEdge, kTail, kWord, 33, kWord, Needs::kNothing, 0, "_mmk"},
    {"alibaba_key",         "LTAI",                                    kEdge, kRun, kAlnum, 12, kAlnum, Needs::kDigit, 4},
    {"harness_token",       "(?:pat|sat)\\.[A-Za-z0-9_-]{22}\\.",      kEdge, kRun, kUrlDot, 20, kUrlDot},
    {"octopus_key",         "API-",                                    kEdge, kRun, kUpper, 24, kAlnum, Needs::kDigit, 4},
    {"readme_key",          "rdme_",                                   kEdge, kRun, kAlnum, 24, kAlnum},
    {"typeform_token",      "tfp_",                                    kEdge, kRun, kUrl, 30, kUrl},
    {"jwt",                 "eyJ",                                     kEdge, kRun, kUrlDot, 20, kUrlDot, Needs::kDot, 4},
    {"private_key",         "-----BEGIN[ A-Z0-9]{0,40} PRIVATE KEY(?: BLOCK)?-----", kAny, kPem, kBase64, 0, kBase64},
    {"url_password",        "[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\\s/:@?#'\"<>]{0,100}:", kAny, ShapeKind::kPassword, Alphabet::kUserInfo, 1, Alphabet::kUserInfo},
    {"url_token",           "[?&](?i:private_token|authenticity_token|rss_token|access_token|api_?key|sig|x-amz-signature|x-amz-credential|x-amz-security-token)=",
                                                                       kAny,  kRun, kValue, 8, kValue},
    {"authorization",       "(?i:authorization)[\"']?[ \\t]{0,3}[:=][ \\t]{0,3}[\"']?(?i:bearer|basic|token|digest|apikey)[ \\t]{1,3}",
                                                                       kAny,  kRun, kToken68, 6, kToken68},
    {"authorization",       "(?i:authorization|x-api-key|api-key|x-auth-token|private-token)[\"']?[ \\t]{0,3}:[ \\t]{0,3}[\"']?",
                                                                       kAny,  kRun, kToken68, 16, kToken68},
    {"authorization",       "(?i:bearer)[ \\t]{1,3}",                  kEdge, kRun, kToken68, 16, kToken68, Needs::kDigit, 4},
    {"curl_user",           "(?:curl|wget)[ \\t][^\\r\\n]{0,200}(?:-u|--user|--proxy-user)[ =]{0,2}[\"']?[A-Za-z0-9._@-]{1,64}:",
                                                                       kAny,  kRun, kValue, 4, kValue},
    {"credential",          "(?i:key|token|secret|passw(?:or)?d|pwd|passphrase|credentials?)[A-Za-z0-9_.-]{0,24}[\"']?[ \\t]{0,3}(?:=>|:=|=|:)[ \\t]{0,3}[\"']?",
                                                                       kAny,  kEntropy, kValue, 8, kValue, Needs::kNothing, 8},
    // The shell's working directories, which every `env` prints. "_" before is part of another name: DB_PWD.
    {"credential",          "(?:^|[^A-Za-z0-9_.-])(?:OLD)?PWD=[\"']?",  kAny,  kDirectory, kValue, 0, kValue},
    // clang-format on
};

static_assert(std::size(kShapes) <= ShapeTracker::kMaxShapes);

}  // namespace

std::span<const Shape> shapes() noexcept {
  return kShapes;
}

namespace detail {
constinit const std::array<std::uint16_t, 256> kMembership = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned b = 0; b < 256; ++b) table[b] = membership(b);
  return table;
}();
}  // namespace detail

}  // namespace factionos::redaction
