#include "protocol/json/writer.h"

#include <string>

#include <gtest/gtest.h>

#include <kj/exception.h>

#include "protocol/schemas/api.capnp.h"
#include "tests/unit/json/fixture.h"
#include "tests/unit/json/sample.capnp.h"

namespace factionos::json {
namespace {

std::string written(capnp::DynamicStruct::Reader value) {
  std::string out;
  ReplyWriter().writeStruct(value, out);
  return out;
}

template <typename Struct>
std::string emptyOf() {
  capnp::MallocMessageBuilder message;
  return written(message.initRoot<Struct>().asReader());
}

TEST(Writer, AbsentThingsAreLeftOut) {
  EXPECT_EQ(
      emptyOf<sample::Sample>(),
      R"({"flag":false,"i8":0,"i16":0,"i32":0,"i64":0,"u8":0,"u16":0,"u32":0,"u64":0,"ranged":500,"named":{}})");
}

TEST(Writer, InternalFieldsAreLeftOutEvenWhenSet) {
  capnp::MallocMessageBuilder message;
  auto value = message.initRoot<sample::Sample>();
  value.setHidden("canary");
  value.initBlob(3);
  EXPECT_EQ(written(value.asReader()), emptyOf<sample::Sample>());
  capnp::MallocMessageBuilder event;
  auto hook = event.initRoot<schema::HookEvent>();
  hook.initContentDigest(32);
  EXPECT_EQ(written(hook.asReader()), "{}");
}

TEST(Writer, DataOutsideOfInternalIsAMistakeOfOurs) {
  capnp::MallocMessageBuilder message;
  auto value = message.initRoot<sample::Unwritable>();
  EXPECT_EQ(written(value.asReader()), "{}");
  value.initBlob(1);
  EXPECT_THROW(written(value.asReader()), kj::Exception);
}

TEST(Writer, ScalarsTimesEnumsAndListsTakeTheirForms) {
  capnp::MallocMessageBuilder message;
  auto value = message.initRoot<schema::Action>();
  value.setId("act_1");
  value.setRevision(3);
  value.setState(schema::ActionState::TIMED_OUT);
  value.setFamily(schema::Family::TERMINAL);
  value.setCreatedAt(1709164800001);
  auto notes = value.initCard().initNotes(2);
  notes.set(0, "one");
  notes.set(1, "t\xE2\x80\xA8wo");
  value.initExit().setCode(0);
  EXPECT_EQ(
      written(value.asReader()),
      R"({"id":"act_1","revision":3,"state":"timed_out","family":"terminal",)"
      R"("card":{"notes":["one","t\u2028wo"]},"createdAt":"2024-02-29T00:00:00.001Z","policyRevision":0,"exit":{"code":0}})");
}

TEST(Writer, OnlyTheActiveMemberOfAUnionIsWritten) {
  capnp::MallocMessageBuilder message;
  auto exit = message.initRoot<schema::Exit>();
  EXPECT_EQ(written(exit.asReader()), R"({"running":true})");
  exit.setCode(0);
  EXPECT_EQ(written(exit.asReader()), R"({"code":0})");
  exit.setSignal(9);
  EXPECT_EQ(written(exit.asReader()), R"({"signal":9})");
  exit.setLost();
  EXPECT_EQ(written(exit.asReader()), R"({"lost":true})");

  capnp::MallocMessageBuilder other;
  auto outcome = other.initRoot<sample::Outcome>();
  EXPECT_EQ(written(outcome.asReader()), "{}");
  outcome.setCode(-1);
  EXPECT_EQ(written(outcome.asReader()), R"({"code":-1})");
  outcome.initInner().setName("ab");
  EXPECT_EQ(written(outcome.asReader()), R"({"inner":{"name":"ab","count":0}})");

  capnp::MallocMessageBuilder third;
  auto value = third.initRoot<sample::Sample>();
  value.getNamed().setIdle();
  EXPECT_TRUE(written(value.asReader()).ends_with(R"("named":{"idle":true}})"));
  value.getNamed().setLevel(0);
  EXPECT_TRUE(written(value.asReader()).ends_with(R"("named":{"level":0}})"));
}

TEST(Writer, IntegersBeyondWhatJsonKeepsExactlyAreClamped) {
  capnp::MallocMessageBuilder message;
  auto value = message.initRoot<sample::Outcome>();
  value.setCode(5);
  capnp::MallocMessageBuilder big;
  auto sample = big.initRoot<sample::Sample>();
  sample.setU64(9007199254740991);
  sample.setI64(-9007199254740991);
  std::string exact = written(sample.asReader());
  EXPECT_NE(exact.find(R"("i64":-9007199254740991)"), std::string::npos);
  EXPECT_NE(exact.find(R"("u64":9007199254740991)"), std::string::npos);
  sample.setU64(~0ULL);
  sample.setI64(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(written(sample.asReader()), exact);
}

TEST(Writer, AnEnumThatThisBuildDoesNotKnowIsLeftOut) {
  capnp::MallocMessageBuilder message;
  auto value = message.initRoot<schema::ConsentCard>();
  value.setRisk(static_cast<schema::Risk>(999));
  EXPECT_EQ(written(value.asReader()), "{}");
}

TEST(Writer, AReplyIsItsMembersWithoutProblemAndMeta) {
  RouteTable table;
  capnp::MallocMessageBuilder message;
  auto results = message.initRoot<capnp::DynamicStruct>(table.match("GET", "/v1/actions").route->result);
  results.init("meta").as<capnp::DynamicStruct>().set("status", 200);
  results.init("problem");
  results.init("actions", 0);
  std::string out = "kept ";
  ReplyWriter writer;
  writer.writeReply(results.asReader(), out);
  EXPECT_EQ(out, R"(kept {"actions":[]})");
  results.set("next", "act_2");
  out.clear();
  writer.writeReply(results.asReader(), out);
  EXPECT_EQ(out, R"({"actions":[],"next":"act_2"})");
}

TEST(Writer, AMemberOfASnapshotIsAReplyOfItsOwn) {
  capnp::MallocMessageBuilder message;
  auto snapshot = message.initRoot<schema::Snapshot>();
  ReplyWriter writer;
  std::string out;
  writer.writeMember(snapshot.asReader(), "sessions", out);
  EXPECT_EQ(out, R"({"sessions":[]})");
  out.clear();
  snapshot.initSessions(1)[0].setId("ses_1");
  writer.writeMember(snapshot.asReader(), "sessions", out);
  EXPECT_TRUE(out.starts_with(R"({"sessions":[{"id":"ses_1",)")) << out;
  out.clear();
  writer.writeMember(snapshot.asReader(), "diagnostics", out);
  EXPECT_EQ(out, "{}");
  EXPECT_THROW(writer.writeMember(snapshot.asReader(), "none", out), kj::Exception);
}

TEST(Problem, EveryCodeHasAKindOfItsOwn) {
  auto enumerants = capnp::Schema::from<schema::ProblemCode>().getEnumerants();
  for (auto enumerant : enumerants) {
    ProblemKind kind = problemKind(static_cast<schema::ProblemCode>(enumerant.getOrdinal()));
    EXPECT_GE(kind.status, 400);
    EXPECT_LT(kind.status, 600);
    EXPECT_FALSE(kind.title.empty());
    EXPECT_FALSE(kind.recovery.empty());
    EXPECT_NE(kind.code, "unspecified");
  }
  EXPECT_EQ(problemKind(schema::ProblemCode::STALE_REVISION).code, "stale_revision");
  EXPECT_EQ(problemKind(schema::ProblemCode::STALE_REVISION).status, 409);
  EXPECT_EQ(problemKind(static_cast<schema::ProblemCode>(9999)).code, "internal_error");
}

TEST(Problem, IsWrittenAsProblemJson) {
  capnp::MallocMessageBuilder message;
  auto problem = message.initRoot<schema::Problem>();
  problem.setCode(schema::ProblemCode::IN_FLIGHT);
  std::string out;
  writeProblem(problem.asReader(), out);
  EXPECT_EQ(
      out,
      R"({"type":"urn:factionos:problem:in_flight","title":"The first request with this key is under way",)"
      R"("status":409,"code":"in_flight","retryable":true,"recovery":"Send it again after Retry-After."})");
  problem.setFamily(schema::Family::GIT);
  problem.setOperation("push");
  problem.setField("approval");
  problem.setDetail("A sentence.");
  problem.setCurrentRevision(7);
  problem.setRetryAfterMs(250);
  problem.setDocs("docs/git.md");
  problem.setRecovery("Do this.");
  problem.setState(schema::ActionState::UNKNOWN);
  out.clear();
  writeProblem(problem.asReader(), out, "req_1");
  EXPECT_EQ(
      out,
      R"({"type":"urn:factionos:problem:in_flight","title":"The first request with this key is under way",)"
      R"("status":409,"code":"in_flight","retryable":true,"recovery":"Do this.",)"
      R"("instance":"urn:factionos:request:req_1","family":"git","operation":"push","field":"approval",)"
      R"("detail":"A sentence.","currentRevision":7,"retryAfterMs":250,"docs":"docs/git.md","state":"unknown"})");
}

TEST(Problem, AJsonErrorIsWrittenTheSameWay) {
  std::string out;
  writeProblem(JsonError{.code = schema::ProblemCode::BLOCKED_FIELD, .field = "cwd", .detail = "A sentence."},
               out);
  EXPECT_EQ(
      out,
      R"({"type":"urn:factionos:problem:blocked_field","title":"A raw field is not accepted here","status":400,)"
      R"("code":"blocked_field","retryable":false,)"
      R"("recovery":"Leave the named field out; name a workspace or a profile instead.","field":"cwd","detail":"A sentence."})");
}

}  // namespace
}  // namespace factionos::json
