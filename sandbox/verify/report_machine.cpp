#include <algorithm>
#include <cstdio>
#include <ostream>
#include <utility>
#include <vector>

#include "sandbox/errno_name.h"
#include "sandbox/verify/report.h"

namespace factionos::sandbox::verify {
namespace {

// Everything here is text of ours: labels, errno names, the kernel's own name.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result + "\"";
}

std::string attribute(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= ' ') result += c;
    }
  }
  return "\"" + result + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string_view truth(bool value) {
  return value ? "true" : "false";
}

std::string namespaceAnswer(int error) {
  return error == 0 ? std::string("available") : std::string(errnoName(error));
}

void writeKernel(std::ostream& out, const Facts& facts) {
  const NamespaceSupport& n = facts.support.namespaces;
  out << "\"kernel\":" << quoted(facts.kernel) << ",\"landlockAbi\":" << facts.support.landlockAbi
      << ",\"seccomp\":{\"filter\":" << truth(facts.support.seccompFilter)
      << ",\"notify\":" << truth(facts.support.seccompNotify)
      << ",\"around\":" << truth(facts.around == Around::kFiltered)
      << "},\"namespaces\":{\"user\":" << quoted(namespaceAnswer(n.user))
      << ",\"pid\":" << quoted(namespaceAnswer(n.pid)) << ",\"mount\":" << quoted(namespaceAnswer(n.mount))
      << ",\"network\":" << quoted(namespaceAnswer(n.network))
      << ",\"ipc\":" << quoted(namespaceAnswer(n.ipc)) << ",\"uts\":" << quoted(namespaceAnswer(n.uts))
      << "}";
}

void writeProbe(std::ostream& out, const Probe& probe) {
  out << "{\"act\":" << quoted(probe.act->name) << ",\"attempt\":" << quoted(probe.act->attempt)
      << ",\"verdict\":" << quoted(label(probe.verdict)) << ",\"control\":" << quoted(probe.control.text())
      << ",\"alone\":" << quoted(probe.alone.text()) << ",\"whole\":" << quoted(probe.whole.text());
  if (!probe.cause.empty()) out << ",\"cause\":" << quoted(probe.cause);
  out << "}";
}

void writeFinding(std::ostream& out, const Finding& finding) {
  const Guarantee& guarantee = *finding.guarantee;
  out << "{\"id\":" << quoted(guarantee.id) << ",\"promise\":" << quoted(guarantee.promise)
      << ",\"layer\":" << quoted(label(guarantee.layer))
      << ",\"strength\":" << (guarantee.strength == Strength::kRequired ? "\"required\"" : "\"optional\"")
      << ",\"counts\":" << truth(finding.counts) << ",\"verdict\":" << quoted(label(finding.verdict));
  if (guarantee.needs != Feature::kNone) out << ",\"needs\":" << quoted(label(guarantee.needs));
  if (!finding.cause.empty()) out << ",\"cause\":" << quoted(finding.cause);
  out << ",\"probes\":[";
  const char* separator = "";
  for (const Probe& probe : finding.probes) {
    out << std::exchange(separator, ",");
    writeProbe(out, probe);
  }
  out << "]}";
}

// Calls `each` for every profile that has findings, with those.
template <typename Each>
void forEachProfile(const Report& report, std::span<const Subject> subjects, Each each) {
  for (const Subject& subject : subjects) {
    std::vector<const Finding*> own;
    for (const Finding& finding : report.findings) {
      if (finding.guarantee->profile == subject.name) own.push_back(&finding);
    }
    if (!own.empty()) each(subject, own);
  }
}

bool fails(const Finding& finding) {
  return finding.counts && finding.verdict != Verdict::kEnforced;
}

// Not what counts, and not green either.
bool skipped(const Finding& finding) {
  return !finding.counts && finding.verdict != Verdict::kEnforced;
}

void writeCase(std::ostream& out, const Subject& subject, const Finding& finding) {
  out << "    <testcase classname=" << attribute("sandbox." + std::string(subject.name)) << " name="
      << attribute(std::string(finding.guarantee->id) + ": " + std::string(finding.guarantee->promise))
      << " time=\"0\">";
  const std::string message = std::string(label(finding.verdict)) + ": " + finding.cause;
  if (fails(finding)) out << "<failure message=" << attribute(message) << "/>";
  if (skipped(finding)) out << "<skipped message=" << attribute(message) << "/>";
  out << "</testcase>\n";
}

}  // namespace

void writeJson(std::ostream& out, const Report& report, std::span<const Subject> subjects) {
  std::size_t counting = 0;
  for (const Finding& finding : report.findings) counting += finding.counts ? 1 : 0;
  out << "{\"format\":\"factionos.sandbox-verify/1\",\"passed\":" << truth(report.passed()) << ",";
  writeKernel(out, report.facts);
  out << ",\"counts\":{\"guarantees\":" << report.findings.size()
      << ",\"enforced\":" << report.count(Verdict::kEnforced)
      << ",\"notEnforced\":" << report.count(Verdict::kNotEnforced)
      << ",\"inconclusive\":" << report.count(Verdict::kInconclusive) << ",\"counting\":" << counting
      << ",\"probes\":" << report.probes() << ",\"tries\":" << report.tries
      << "},\"seconds\":" << number(report.seconds) << ",\"profiles\":[";
  const char* between = "";
  forEachProfile(report, subjects, [&](const Subject& subject, const std::vector<const Finding*>& findings) {
    out << std::exchange(between, ",") << "{\"profile\":" << quoted(subject.name)
        << ",\"role\":" << quoted(subject.role) << ",\"purpose\":" << quoted(subject.purpose)
        << ",\"guarantees\":[";
    const char* separator = "";
    for (const Finding* finding : findings) {
      out << std::exchange(separator, ",");
      writeFinding(out, *finding);
    }
    out << "]}";
  });
  out << "]}\n";
}

void writeJunit(std::ostream& out, const Report& report, std::span<const Subject> subjects) {
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"factionos sandbox verify\" tests=\""
      << report.findings.size() << "\" failures=\"" << std::ranges::count_if(report.findings, fails)
      << "\" skipped=\"" << std::ranges::count_if(report.findings, skipped) << "\" time=\""
      << number(report.seconds) << "\">\n";
  forEachProfile(report, subjects, [&](const Subject& subject, const std::vector<const Finding*>& findings) {
    const auto count = [&](auto holds) {
      return std::ranges::count_if(findings, [&](const Finding* finding) { return holds(*finding); });
    };
    out << "  <testsuite name=" << attribute(subject.name) << " tests=\"" << findings.size()
        << "\" failures=\"" << count(fails) << "\" skipped=\"" << count(skipped) << "\">\n";
    for (const Finding* finding : findings) writeCase(out, subject, *finding);
    out << "  </testsuite>\n";
  });
  out << "</testsuites>\n";
}

}  // namespace factionos::sandbox::verify
