#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "broker/api/audit_view.h"
#include "broker/audit/reader.h"
#include "broker/audit/verify.h"
#include "broker/cli/commands.h"
#include "broker/home/config.h"
#include "protocol/json/writer.h"

namespace factionos::cli {
namespace {

struct Options {
  std::optional<std::string> firstKey;
  std::optional<std::string> anchor;
  std::uint64_t after = 0;
  std::size_t limit = 100;
  std::string output;
};

audit::AuditPaths pathsOf(const Context& context) {
  return {.stateDirectory = std::filesystem::path(context.home().path()) / "state"};
}

// From the file that was given, else from the one that config.toml names. One that is named and missing is an
// error: it is what somebody takes away who puts the home back.
std::optional<audit::AnchorPoint> anchorOf(const Context& context, const Options& options) {
  try {
    if (options.anchor) return audit::readAnchor(*options.anchor);
    const auto config = must(home::loadConfig(context.home()));
    if (config.auditAnchor.empty()) return std::nullopt;
    return audit::readAnchor(config.auditAnchor);
  } catch (const audit::FileError& error) {
    throw Stop(kFailed, error.what());
  }
}

int verify(const Context& context, const Options& options) {
  audit::Expectation expected{.firstPublicKey = options.firstKey};
  if (const auto anchor = anchorOf(context, options)) {
    expected.atLeast = anchor->sequence;
    expected.hashAtLeast = anchor->hash;
  }
  const auto verdict = audit::verify(pathsOf(context), expected);
  if (context.json()) {
    std::cout << "{\"intact\":" << (verdict.intact() ? "true" : "false") << ",\"records\":" << verdict.records
              << ",\"sequence\":" << verdict.sequence << ",\"cause\":\"" << audit::nameOf(verdict.breach)
              << "\",\"gaps\":" << verdict.gaps << ",\"voided\":" << verdict.voided << "}\n";
  } else if (verdict.intact()) {
    std::cout << "intact: " << verdict.records << " records, " << verdict.sequence << " lines";
    if (verdict.gaps != 0) std::cout << ", " << verdict.gaps << " gaps told openly";
    if (expected.hashAtLeast) std::cout << ", as its anchor says";
    std::cout << (options.firstKey ? "" : "; give --first-key to check where it begins") << "\n";
  } else {
    std::cout << "BROKEN at line " << verdict.sequence << ": " << audit::nameOf(verdict.breach) << "\n";
  }
  return verdict.intact() ? kDone : kFailed;
}

int list(const Context& context, const Options& options) {
  const auto lines = audit::list(pathsOf(context), options.after, options.limit);
  if (context.json()) {
    capnp::MallocMessageBuilder message;
    auto results = message.initRoot<schema::Api::AuditListResults>();
    actions::Outgoing<redaction::Boundary::kCli, schema::Api::AuditListResults> shown(results);
    using R = schema::Api::AuditListResults::Builder;
    auto records = shown.init(&R::initRecords, lines.size());
    for (unsigned i = 0; i < lines.size(); ++i) broker::fillRecord(lines[i], records[i]);
    if (lines.size() == options.limit) shown.set(&R::setNext, lines.back().sequence);
    json::ReplyWriter writer;
    std::string out;
    writer.writeReply(capnp::DynamicStruct::Reader(results.asReader()), out);
    std::cout << out << "\n";
    return kDone;
  }
  for (const auto& line : lines) {
    const auto* record = std::get_if<audit::Record>(&line.body);
    if (record == nullptr) continue;
    std::cout << line.sequence << "  " << record->family.text() << "." << record->operation.text() << "  "
              << record->decision.text() << "  " << record->result.text();
    if (record->target) std::cout << "  " << record->target->text();
    std::cout << "  by " << record->requester.text();
    if (record->approver) std::cout << ", approved by " << record->approver->text();
    if (record->failure) std::cout << "  (" << record->failure->text() << ")";
    if (!record->actionId.empty()) std::cout << "  " << record->actionId << " r" << record->revision;
    std::cout << "\n";
  }
  return kDone;
}

int exportAll(const Context& context, const Options& options) {
  if (options.output.empty()) {
    audit::exportTo(pathsOf(context), std::cout);
    return kDone;
  }
  std::ofstream out(options.output, std::ios::out | std::ios::trunc);
  const auto count = audit::exportTo(pathsOf(context), out);
  out.flush();
  if (!out) throw Stop(kFailed, "the export could not be written");
  std::cerr << count << " lines exported\n";
  return kDone;
}

}  // namespace

void addAuditCommands(CLI::App& app, Context& context, Action& action) {
  auto options = std::make_shared<Options>();
  auto* audit = app.add_subcommand("audit", "what was decided and what came of it");
  audit->require_subcommand(1);
  auto* verifyCommand = audit->add_subcommand("verify", "check chain, signatures and head");
  verifyCommand->add_option("--first-key", options->firstKey, "the audit key that 'init' printed")
      ->check([](const std::string& key) -> std::string {
        const bool hex = key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
        return hex ? "" : "64 hexadecimal digits are wanted, as init printed them";
      });
  verifyCommand->add_option(
      "--anchor", options->anchor,
      "a file that [audit] anchor kept outside (default: the one that config.toml names)");
  verifyCommand->callback([&context, &action, options]() {
    action = [&context, options]() { return verify(context, *options); };
  });
  auto* listCommand = audit->add_subcommand("list", "show records");
  listCommand->add_option("--after", options->after, "only lines above this number");
  listCommand->add_option("--limit", options->limit, "at most so many (1 to 1000)")
      ->check(CLI::Range(1, 1000));
  listCommand->callback(
      [&context, &action, options]() { action = [&context, options]() { return list(context, *options); }; });
  auto* exportCommand = audit->add_subcommand("export", "write every line as one JSON object");
  exportCommand->add_option("--output", options->output, "a file instead of standard output");
  exportCommand->callback([&context, &action, options]() {
    action = [&context, options]() { return exportAll(context, *options); };
  });
}

}  // namespace factionos::cli
