#include <algorithm>
#include <cstdio>
#include <ostream>
#include <vector>

#include "sandbox/verify/report.h"

namespace factionos::sandbox::verify {
namespace {

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

void writeJunit(std::ostream& out, const Report& report, std::span<const Subject> subjects) {
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"factionos sandbox verify\" tests=\""
      << report.findings.size() << "\" failures=\"" << std::ranges::count_if(report.findings, fails)
      << "\" skipped=\"" << std::ranges::count_if(report.findings, skipped) << "\" time=\""
      << number(report.seconds) << "\">\n";
  for (const Subject& subject : subjects) {
    const std::vector<const Finding*> findings = report.findingsOf(subject.name);
    if (findings.empty()) continue;
    const auto count = [&](auto holds) {
      return std::ranges::count_if(findings, [&](const Finding* finding) { return holds(*finding); });
    };
    out << "  <testsuite name=" << attribute(subject.name) << " tests=\"" << findings.size()
        << "\" failures=\"" << count(fails) << "\" skipped=\"" << count(skipped) << "\">\n";
    for (const Finding* finding : findings) writeCase(out, subject, *finding);
    out << "  </testsuite>\n";
  }
  out << "</testsuites>\n";
}

}  // namespace factionos::sandbox::verify
