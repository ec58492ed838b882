#include "broker/walls/verify_json.h"

#include <algorithm>
#include <cstdio>

#include "protocol/json/json_text.h"
#include "sandbox/errno_name.h"

namespace factionos::walls {
namespace {

namespace verify = sandbox::verify;
using json::JsonText;
using verify::Verdict;

void member(JsonText& out, std::string_view name, bool value) {
  out.key(name), out.boolean(value);
}

void member(JsonText& out, std::string_view name, std::size_t value) {
  out.key(name), out.unsignedInteger(value);
}

void writeNamespaces(JsonText& out, const sandbox::NamespaceSupport& support) {
  const auto answer = [&out](std::string_view kind, int error) {
    out.member(kind, error == 0 ? std::string_view("available") : sandbox::errnoName(error));
  };
  out.key("namespaces"), out.beginObject();
  answer("user", support.user);
  answer("pid", support.pid);
  answer("mount", support.mount);
  answer("network", support.network);
  answer("ipc", support.ipc);
  answer("uts", support.uts);
  out.endObject();
}

void writeKernel(JsonText& out, const verify::Facts& facts) {
  out.member("kernel", facts.kernel);
  out.key("landlockAbi"), out.integer(facts.support.landlockAbi);
  out.key("seccomp"), out.beginObject();
  member(out, "filter", facts.support.seccompFilter);
  member(out, "notify", facts.support.seccompNotify);
  member(out, "around", facts.around == verify::Around::kFiltered);
  out.endObject();
  writeNamespaces(out, facts.support.namespaces);
}

void writeCounts(JsonText& out, const verify::Report& report) {
  const auto counting = std::ranges::count_if(report.findings, &verify::Finding::counts);
  out.key("counts"), out.beginObject();
  member(out, "guarantees", report.findings.size());
  member(out, "enforced", report.count(Verdict::kEnforced));
  member(out, "notEnforced", report.count(Verdict::kNotEnforced));
  member(out, "inconclusive", report.count(Verdict::kInconclusive));
  member(out, "counting", static_cast<std::size_t>(counting));
  member(out, "probes", report.probes());
  member(out, "tries", report.tries);
  out.endObject();
}

void writeProbe(JsonText& out, const verify::Probe& probe) {
  out.beginObject();
  out.member("act", probe.act->name);
  out.member("attempt", probe.act->attempt);
  out.member("verdict", label(probe.verdict));
  out.member("control", probe.control.text());
  out.member("alone", probe.alone.text());
  out.member("whole", probe.whole.text());
  if (!probe.cause.empty()) out.member("cause", probe.cause);
  out.endObject();
}

void writeFinding(JsonText& out, const verify::Finding& finding) {
  const verify::Guarantee& guarantee = *finding.guarantee;
  out.beginObject();
  out.member("id", guarantee.id);
  out.member("promise", guarantee.promise);
  out.member("layer", label(guarantee.layer));
  out.member("strength", guarantee.strength == verify::Strength::kRequired ? "required" : "optional");
  member(out, "counts", finding.counts);
  out.member("verdict", label(finding.verdict));
  if (guarantee.needs != verify::Feature::kNone) out.member("needs", label(guarantee.needs));
  if (!finding.cause.empty()) out.member("cause", finding.cause);
  out.key("probes"), out.beginArray();
  for (const verify::Probe& probe : finding.probes) writeProbe(out, probe);
  out.endArray();
  out.endObject();
}

void writeProfile(JsonText& out, const verify::Subject& subject,
                  const std::vector<const verify::Finding*>& findings) {
  out.beginObject();
  out.member("profile", subject.name);
  out.member("role", subject.role);
  out.member("purpose", subject.purpose);
  out.key("guarantees"), out.beginArray();
  for (const verify::Finding* finding : findings) writeFinding(out, *finding);
  out.endArray();
  out.endObject();
}

}  // namespace

std::string verifyJson(const verify::Report& report, std::span<const verify::Subject> subjects) {
  std::string text;
  JsonText out(text);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", report.seconds);
  out.beginObject();
  out.member("format", "factionos.sandbox-verify/1");
  member(out, "passed", report.passed());
  writeKernel(out, report.facts);
  writeCounts(out, report);
  out.key("seconds"), out.raw(seconds);
  out.key("profiles"), out.beginArray();
  for (const verify::Subject& subject : subjects) {
    const auto findings = report.findingsOf(subject.name);
    if (!findings.empty()) writeProfile(out, subject, findings);
  }
  out.endArray();
  out.endObject();
  return text + "\n";
}

}  // namespace factionos::walls
