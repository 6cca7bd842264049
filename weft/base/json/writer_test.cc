// SPDX-License-Identifier: Apache-2.0
#include "weft/base/json/writer.h"

#include <gtest/gtest.h>

#include <limits>

#include "weft/base/check.h"

namespace weft {
namespace {

TEST(JsonWriter, WritesNestedValuesWithCommasWhereTheyBelong) {
  JsonWriter w;
  w.begin_object().field("a", 1).key("b").begin_array().value(true).null().value("x").end_array();
  w.key("c").begin_object().end_object().end_object();
  EXPECT_EQ(w.text(), R"({"a":1,"b":[true,null,"x"],"c":{}})");
}

TEST(JsonWriter, IndentsIfRequested) {
  JsonWriter w(2);
  w.begin_object().field("a", 1).key("b").begin_array().end_array().end_object();
  EXPECT_EQ(w.text(), "{\n  \"a\": 1,\n  \"b\": []\n}");
}

TEST(JsonWriter, NumbersReadBackAsThemselves) {
  JsonWriter w;
  w.begin_array().value(0.1).value(1e300).value(std::numeric_limits<double>::quiet_NaN());
  w.value(std::numeric_limits<std::int64_t>::min());
  w.value(std::numeric_limits<std::uint64_t>::max()).end_array();
  EXPECT_EQ(w.text(), "[0.1,1e+300,null,-9223372036854775808,18446744073709551615]");
}

TEST(JsonWriter, EscapesWhatJsonForbidsAndRepairsUtf8) {
  JsonWriter w;
  w.value(std::string_view("\"\\\n\x01 \xc3\xa9 \xff \xed\xa0\x80", 13));
  EXPECT_EQ(w.text(),
            "\"\\\"\\\\\\n\\u0001 \xc3\xa9 \xef\xbf\xbd "
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(JsonWriter, UnbalancedEndFailsACheck) {
  JsonWriter w;
  EXPECT_THROW(w.end_object(), InternalError);
}

}  // namespace
}  // namespace weft
