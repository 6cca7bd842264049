// SPDX-License-Identifier: Apache-2.0
#include "weft/base/json/scanner.h"

#include <gtest/gtest.h>

#include "weft/base/json/document.h"
#include "weft/base/json/writer.h"

namespace weft {
namespace {

// Reads any value and writes it back, so that a test can compare two texts.
void copy(JsonScanner& in, JsonWriter& out) {
  switch (in.peek()) {
    case JsonKind::kObject: {
      in.enter();
      out.begin_object();
      std::string_view key;
      while (in.next_key(key)) {
        out.key(key);
        copy(in, out);
      }
      out.end_object();
      break;
    }
    case JsonKind::kArray:
      in.enter();
      out.begin_array();
      while (in.next_item()) copy(in, out);
      out.end_array();
      break;
    case JsonKind::kString: {
      const std::string_view text = in.string();
      in.ok() ? out.value(text) : out.raw("<end>");
      break;
    }
    case JsonKind::kNumber:
      out.raw(in.number());
      break;
    case JsonKind::kNothing:
      in.skip();
      out.raw("<end>");
      break;
    default:
      out.raw(in.raw());
  }
}

// Reads every text through windows of many sizes, because the result must not depend on the window.
struct Outcome {
  std::string text;
  JsonRepairs repairs;
  bool cut, broken;
  std::int64_t offset;
};

Outcome run(std::string_view text) {
  std::optional<Outcome> first;
  for (std::size_t piece : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    const auto source = memory_source(text, "test", piece);
    JsonScanner scanner(*source, 64);
    JsonWriter out;
    copy(scanner, out);
    Outcome now{out.take(), scanner.repairs(), scanner.cut(), scanner.broken(), scanner.offset()};
    if (first) {
      EXPECT_EQ(first->text, now.text) << piece;
      EXPECT_EQ(first->cut, now.cut) << piece;
      EXPECT_EQ(first->broken, now.broken) << piece;
      EXPECT_EQ(first->offset, now.offset) << piece;
    } else {
      first = now;
    }
  }
  return *first;
}

TEST(JsonScanner, ReadsEveryKindOfValue) {
  const Outcome r = run(R"( {"a" : 1, "b": [true, false, null, -1.5e3, "x"], "c": {}, "d": []} )");
  EXPECT_EQ(r.text, R"({"a":1,"b":[true,false,null,-1.5e3,"x"],"c":{},"d":[]})");
  EXPECT_FALSE(r.cut || r.broken);
  EXPECT_EQ(r.repairs.stray_commas.count, 0);
}

TEST(JsonScanner, SkipsAByteOrderMark) { EXPECT_EQ(run("\xef\xbb\xbf[1]").text, "[1]"); }

TEST(JsonScanner, UnescapesStrings) {
  EXPECT_EQ(run(R"(["\"\\\/\n\t\u0041\u00e9\ud83d\ude00"])").text,
            "[\"\\\"\\\\/\\n\\tA\xc3\xa9\xf0\x9f\x98\x80\"]");
}

TEST(JsonScanner, KeepsAndCountsRawControlCharacters) {
  const Outcome r = run("{\"a\nb\": \"\x01\x02\"\x03}");
  EXPECT_EQ(r.text, R"({"a\nb":"\u0001\u0002"})");
  EXPECT_EQ(r.repairs.control_characters.count, 4);
  EXPECT_EQ(r.repairs.control_characters.first_byte, 3);
}

TEST(JsonScanner, ReplacesBadUtf8AndSaysWhere) {
  const Outcome r = run("[\"ok\", \"a\xff\xc3\"]");
  EXPECT_EQ(r.text, "[\"ok\",\"a\xef\xbf\xbd\xef\xbf\xbd\"]");
  EXPECT_EQ(r.repairs.bad_utf8.count, 2);
  EXPECT_EQ(r.repairs.bad_utf8.first_byte, 9);
}

TEST(JsonScanner, BadEscapesAreKeptReadable) {
  const Outcome r = run(R"(["C:\qx", "\ud800", "\u12"])");
  EXPECT_EQ(r.text,
            "[\"C:\\\\qx\",\"\xef\xbf\xbd\",\"\xef\xbf\xbd"
            "12\"]");
  EXPECT_EQ(r.repairs.bad_escapes.count, 3);
}

TEST(JsonScanner, NotANumberIsANumberThatDoesNotParse) {
  const Outcome r = run("[NaN, -Infinity, nan, null, 1]");
  EXPECT_EQ(r.text, "[NaN,-Infinity,nan,null,1]");
  EXPECT_EQ(r.repairs.not_numbers.count, 3);
}

TEST(JsonScanner, ForgivesCommas) {
  const Outcome r = run(R"({"a":1,,"b":[1,2,],})");
  EXPECT_EQ(r.text, R"({"a":1,"b":[1,2]})");
  EXPECT_EQ(r.repairs.stray_commas.count, 3);
}

TEST(JsonScanner, CutTextDeliversWhatIsComplete) {
  const std::string whole = R"({"a":[1,22],"b":{"c":"text"}})";
  for (std::size_t keep = 0; keep < whole.size(); ++keep) {
    const Outcome r = run(std::string_view(whole).substr(0, keep));
    EXPECT_FALSE(r.broken) << keep;
    if (keep > 0) {
      EXPECT_TRUE(r.cut) << keep;
    }
  }
  EXPECT_EQ(run(R"({"a":[1,22],"b")").text, R"({"a":[1,22]})");
}

TEST(JsonScanner, StopsWhereTheTextIsNotJson) {
  const Outcome r = run(R"({"a":1, b:2})");
  EXPECT_TRUE(r.broken);
  EXPECT_EQ(r.offset, 8);
  EXPECT_TRUE(run("[1, }").broken);
  EXPECT_TRUE(run("[1, ?]").broken);
}

TEST(JsonScanner, ResyncContinuesAfterDamage) {
  const std::string text = R"([{"ph":1},{"ph"!!"},{"ph":3}])";
  for (std::size_t piece : {1u, 5u, 100u}) {
    const auto source = memory_source(text, "test", piece);
    JsonScanner scanner(*source, 64);
    std::string seen;
    scanner.peek();
    scanner.enter();
    std::string_view key;
    while (scanner.next_item()) {
      scanner.enter();
      while (scanner.next_key(key)) seen += scanner.number();
      if (scanner.broken()) {
        ASSERT_TRUE(scanner.resync("{\"ph\""));
      }
    }
    EXPECT_EQ(seen, "13");
  }
}

TEST(JsonScanner, HeldTextsOutliveTheWindow) {
  std::string text = "[";
  for (int i = 0; i < 200; ++i) text += "\"value " + std::to_string(i) + "\\n\",";
  text += "0]";
  const auto source = memory_source(text, "test", 13);
  JsonScanner scanner(*source, 64);
  std::vector<std::string_view> seen;
  scanner.hold();
  scanner.peek();
  scanner.enter();
  while (scanner.next_item()) {
    if (scanner.peek() == JsonKind::kString) {
      seen.push_back(scanner.string());
    } else {
      scanner.skip();
    }
  }
  ASSERT_EQ(seen.size(), 200u);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], "value " + std::to_string(i) + "\n");
  }
  scanner.release();
}

TEST(JsonScanner, TooLongTextsAreDropped) {
  const std::string text = "[\"" + std::string(40u << 20, 'x') + "\", 7]";
  const auto source = memory_source(text, "test");
  JsonScanner scanner(*source);
  scanner.peek();
  scanner.enter();
  ASSERT_TRUE(scanner.next_item());
  EXPECT_EQ(scanner.string(), "");
  ASSERT_TRUE(scanner.next_item());
  EXPECT_EQ(scanner.number(), "7");
  EXPECT_EQ(scanner.repairs().long_texts.count, 1);
}

TEST(JsonScanner, DeepNestingNeedsNoStack) {
  const std::string text = "[" + std::string(5'000'000, '[') + std::string(5'000'000, ']') + ",1]";
  const auto source = memory_source(text, "test");
  JsonScanner scanner(*source);
  scanner.peek();
  scanner.enter();
  ASSERT_TRUE(scanner.next_item());
  scanner.skip();
  ASSERT_TRUE(scanner.next_item());
  EXPECT_EQ(scanner.number(), "1");
}

TEST(JsonDocument, FindsMembersAndNumbers) {
  const auto doc = parse_json(R"({"rank": 3, "links": [{"us": 1.5}], "name": "a\nb"})", "t");
  ASSERT_TRUE(doc);
  EXPECT_EQ(doc->find("rank")->as_int(), 3);
  EXPECT_EQ(doc->find("links")->items[0].find("us")->as_double(), 1.5);
  EXPECT_EQ(doc->find("name")->text, "a\nb");
  EXPECT_EQ(doc->find("nobody"), nullptr);
}

TEST(JsonDocument, BrokenTextIsAnErrorWithItsByte) {
  EXPECT_EQ(parse_json(R"({"a":1)", "t").error().byte, 6);
  EXPECT_EQ(parse_json(R"([1, x!])", "t").error().byte, 5);
  EXPECT_EQ(parse_json("[1] 2", "t").error().byte, 4);
  EXPECT_FALSE(parse_json("", "t"));
  EXPECT_FALSE(parse_json(std::string(100000, '['), "t"));
}

}  // namespace
}  // namespace weft
