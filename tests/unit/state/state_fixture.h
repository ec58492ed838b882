#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "broker/audit/verify.h"
#include "broker/state/action_table.h"
#include "broker/state/ids.h"
#include "broker/state/keys.h"
#include "broker/state/writer.h"
#include "tests/unit/audit/audit_fixture.h"
#include "tests/unit/audit/temp_home.h"

namespace factionos::state {

inline Time at(std::int64_t ms) {
  return Time(std::chrono::milliseconds(ms));
}

inline Digest digestOf(std::string_view text) {
  return audit::hash(audit::asBytes(text));
}

inline ActionRow actionOf(const std::string& id) {
  return ActionRow{.id = id,
                   .family = Code::of("git"),
                   .operation = Code::of("commit"),
                   .workspace = Label::of("demo"),
                   .target = Label::of("main"),
                   .principal = Label::of("agent-one"),
                   .requestDigest = digestOf("request"),
                   .policyRevision = 3,
                   .operandDigests = {digestOf("one"), digestOf("two")},
                   .risk = Code::of("medium"),
                   .created = at(1000),
                   .updated = at(1000),
                   .expires = at(5000)};
}

inline audit::Record recordOf(const std::string& actionId) {
  audit::Record record = audit::recordOf();
  record.actionId = actionId;
  return record;
}

// A home with its files made, and what a broker has open of it.
class StateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    firstKey = audit::AuditLog::create(paths);
    open();
  }

  void open(audit::FaultPoints* faults = nullptr) {
    database = std::make_unique<Database>(file, Access::kReadWrite);
    audit::AuditOptions options{.files = &files, .faults = faults};
    options.committedThrough = committedThrough(*database);
    log = audit::AuditLog::open(paths, options);
    writer = std::make_unique<Writer>(*database, *log, audit::systemNow, faults);
  }

  void close() {
    writer.reset();
    log.reset();
    database.reset();
  }

  // Runs one mutation alone and throws what came of it.
  void commit(const Mutation& mutation) {
    const BatchResult result = writer->runBatch({mutation});
    if (result.errors[0] != nullptr) std::rethrow_exception(result.errors[0]);
  }

  audit::Verdict check() { return audit::verify(paths, audit::Expectation{.firstPublicKey = firstKey}); }

  testing::TempHome home;
  std::filesystem::path file = home.path() / "state.db";
  audit::AuditPaths paths{home.path()};
  audit::FaultyFiles files;
  IdGenerator ids;
  std::string firstKey;
  std::unique_ptr<Database> database;
  std::unique_ptr<audit::AuditLog> log;
  std::unique_ptr<Writer> writer;
};

template <typename Work>
StateFault faultOf(Work&& work) {
  try {
    work();
  } catch (const StateUnavailable& error) {
    return error.fault();
  }
  ADD_FAILURE() << "nothing was thrown";
  return StateFault::kUsage;
}

}  // namespace factionos::state
