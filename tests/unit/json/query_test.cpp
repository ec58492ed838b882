#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/json/reader.h"
#include "tests/unit/json/fixture.h"
#include "tests/unit/json/sample.capnp.h"

namespace factionos::json {
namespace {

TEST(Query, PairsAreDecodedOnce) {
  std::vector<QueryPair> pairs;
  ASSERT_FALSE(parseQuery("a=1&b=%41%20+%2541&c=&d==x", pairs));
  ASSERT_EQ(pairs.size(), 4U);
  EXPECT_EQ(pairs[0].value, "1");
  EXPECT_EQ(pairs[1].value, "A +%41");
  EXPECT_EQ(pairs[2].value, "");
  EXPECT_EQ(pairs[3].value, "=x");
  ASSERT_FALSE(parseQuery("", pairs));
  EXPECT_TRUE(pairs.empty());
}

TEST(Query, WhatIsNotAListOfDistinctPairsIsRefused) {
  std::vector<QueryPair> pairs;
  for (std::string_view query : {"a", "=1", "&", "a=1&", "&a=1", "a=1&&b=2", "a=1&a=2", "a=1&%61=2", "a=%",
                                 "a=%4", "a=%4g", "a=%g4", "a b=1", "a=\xc3\xa9", "a=\x7f", "a=1\n"}) {
    ReadResult error = parseQuery(query, pairs);
    ASSERT_TRUE(error) << query;
    EXPECT_EQ(error->code, schema::ProblemCode::INVALID_REQUEST);
    EXPECT_EQ(error->field, "");
  }
}

TEST(Query, TheNumberOfPairsIsBounded) {
  std::string query;
  for (int i = 0; i < 16; ++i) query += (i == 0 ? "" : "&") + std::string("p") + std::to_string(i) + "=1";
  std::vector<QueryPair> pairs;
  EXPECT_FALSE(parseQuery(query, pairs));
  EXPECT_TRUE(parseQuery(query + "&more=1", pairs));
}

Route asked() {
  Route route = routeOf<sample::Asked>();
  route.method = schema::Method::GET;
  return route;
}

TEST(Query, ValuesTakeTheSchemasTypes) {
  Read<sample::Asked> read(
      asked(), "",
      "required=65535&since=1970-01-01T00:00:01.5Z&deep=true&signed=-7&word=%C3%A9&colour=deep_red");
  ASSERT_FALSE(read.error) << read.error->field << ' ' << read.error->detail;
  EXPECT_EQ(read.value.getRequired(), 65535);
  EXPECT_EQ(read.value.getSince(), 1500);
  EXPECT_TRUE(read.value.getDeep());
  EXPECT_EQ(read.value.getSigned(), -7);
  EXPECT_EQ(read.value.getWord(), "\xC3\xA9");
  EXPECT_EQ(read.value.getColour(), sample::Colour::DEEP_RED);
}

TEST(Query, AWrongValueNamesItsField) {
  struct Row {
    std::string_view query;
    std::string_view field;
    schema::ProblemCode code = schema::ProblemCode::INVALID_REQUEST;
  };
  for (const Row& row :
       std::initializer_list<Row>{{"", "required"},
                                  {"deep=true", "required"},
                                  {"required=", "required"},
                                  {"required=65536", "required"},
                                  {"required=-1", "required"},
                                  {"required=01", "required"},
                                  {"required=+1", "required"},
                                  {"required=1.0", "required"},
                                  {"required=0x1", "required"},
                                  {"required=99999999999999999999999", "required"},
                                  {"required=1&deep=1", "deep"},
                                  {"required=1&deep=TRUE", "deep"},
                                  {"required=1&signed=-0", "signed"},
                                  {"required=1&signed=2147483648", "signed"},
                                  {"required=1&word=12345", "word"},
                                  {"required=1&word=%00", "word"},
                                  {"required=1&word=%C3", "word"},
                                  {"required=1&colour=unspecified", "colour"},
                                  {"required=1&colour=deepRed", "colour"},
                                  {"required=1&colour=", "colour"},
                                  {"required=1&since=0", "since"},
                                  {"required=1&canary=1", ""},
                                  {"required=1&cwd=1", "cwd", schema::ProblemCode::BLOCKED_FIELD}}) {
    Read<sample::Asked> read(asked(), "", row.query);
    ASSERT_TRUE(read.error) << row.query;
    EXPECT_EQ(read.error->field, row.field) << row.query;
    EXPECT_EQ(read.error->code, row.code) << row.query;
    EXPECT_EQ(read.error->detail.find("canary"), std::string::npos);
  }
}

}  // namespace
}  // namespace factionos::json
