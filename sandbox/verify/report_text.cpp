#include <iomanip>
#include <ostream>
#include <sstream>
#include <utility>

#include <unistd.h>

#include "sandbox/errno_name.h"
#include "sandbox/verify/report.h"

namespace factionos::sandbox::verify {
namespace {

constexpr std::size_t kWidth = 96;
constexpr std::size_t kIndent = 18;

std::string namespacesOf(const NamespaceSupport& support) {
  std::ostringstream text;
  const auto add = [&text](const char* name, int error) {
    text << (text.tellp() > 0 ? ", " : "") << name;
    if (error != 0) text << " refused (" << errnoName(error) << ")";
  };
  add("user", support.user);
  add("pid", support.pid);
  add("mount", support.mount);
  add("network", support.network);
  add("ipc", support.ipc);
  add("uts", support.uts);
  return text.str();
}

void writeFacts(std::ostream& out, const Report& report) {
  const KernelSupport& support = report.facts.support;
  out << "FactionOS: the sandbox on this kernel, put to the proof\n\n"
      << "  kernel       " << report.facts.kernel << "\n"
      << "  landlock     "
      << (support.landlockAbi == 0 ? std::string("none") : "ABI " + std::to_string(support.landlockAbi))
      << "\n"
      << "  seccomp      " << (support.seccompFilter ? "filters" : "none")
      << (support.seccompNotify ? ", user notification" : "")
      << (report.facts.around == Around::kFiltered ? "; under a filter of somebody else" : "") << "\n"
      << "  namespaces   " << namespacesOf(support.namespaces) << "\n"
      << "  run as       uid " << geteuid() << (report.facts.gainable ? "" : ", with no_new_privs set")
      << "\n";
}

// Wrapped at words, further lines indented.
void writeWrapped(std::ostream& out, const std::string& text) {
  std::istringstream words(text);
  std::string word;
  std::size_t column = kIndent;
  out << std::string(kIndent, ' ');
  while (words >> word) {
    const bool first = column == kIndent;
    if (!first && column + word.size() + 1 > kWidth) {
      out << "\n" << std::string(kIndent, ' ');
      column = kIndent;
    } else if (!first) {
      out << ' ';
    }
    out << word;
    column += word.size() + 1;
  }
  out << "\n";
}

std::string_view shout(const Finding& finding) {
  if (finding.verdict == Verdict::kEnforced) return "enforced";
  if (finding.verdict == Verdict::kNotEnforced) return "NOT ENFORCED";
  return finding.counts ? "INCONCLUSIVE" : "inconclusive";
}

void writeFinding(std::ostream& out, const Finding& finding) {
  const Guarantee& guarantee = *finding.guarantee;
  out << "  " << std::left << std::setw(14) << shout(finding) << "  " << std::setw(28) << guarantee.id
      << "by " << label(guarantee.layer) << (guarantee.strength == Strength::kRequired ? ", required" : "")
      << "\n";
  writeWrapped(out, "It " + std::string(guarantee.promise) + ".");
  if (!finding.probes.empty())
    writeWrapped(out, std::to_string(finding.probes.size()) +
                          (finding.probes.size() == 1 ? " probe: " : " probes: ") + finding.seen);
  if (!finding.cause.empty()) writeWrapped(out, "Cause: " + finding.cause);
}

void writeSum(std::ostream& out, const Report& report) {
  std::size_t counting = 0;
  for (const Finding& finding : report.findings) counting += finding.counts ? 1 : 0;
  out << "\n"
      << report.findings.size() << " guarantees: " << report.count(Verdict::kEnforced) << " enforced, "
      << report.count(Verdict::kNotEnforced) << " not enforced, " << report.count(Verdict::kInconclusive)
      << " inconclusive; " << counting << " count here\n"
      << report.probes() << " probes, " << report.tries << " tries, " << std::fixed << std::setprecision(1)
      << report.seconds << " s\n"
      << (report.passed() ? "Every guarantee that counts on this kernel is enforced.\n"
                          : "NOT every guarantee that counts on this kernel is enforced.\n");
}

}  // namespace

void writeText(std::ostream& out, const Report& report, std::span<const Subject> subjects) {
  writeFacts(out, report);
  for (const Subject& subject : subjects) {
    bool first = true;
    for (const Finding& finding : report.findings) {
      if (finding.guarantee->profile != subject.name) continue;
      if (std::exchange(first, false)) out << "\n" << subject.name << ": " << subject.purpose << "\n";
      writeFinding(out, finding);
    }
  }
  writeSum(out, report);
}

}  // namespace factionos::sandbox::verify
