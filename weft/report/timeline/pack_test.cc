// SPDX-License-Identifier: Apache-2.0
// Checks the packed format with a simple reader that decodes the span columns. The real reader runs
// in the browser; tests/report/test_timeline.py tests it.
#include "weft/report/timeline/pack.h"

#include <gtest/gtest.h>

#include <map>

namespace weft::report {
namespace {

Timeline small_timeline() {
  Timeline timeline;
  const NameId rare = timeline.names.intern("rare"), often = timeline.names.intern("often");
  timeline.labels = {{rare, SpanClass::kCompute}, {often, SpanClass::kHostOp}};
  timeline.ranks = {{0, "", 0}};
  timeline.lanes = {{0, RowGroup::kStream, 0, "stream 7"}, {0, RowGroup::kHost, -1, "thread 1"}};
  timeline.rows = {{0, 0, 0, 1}, {1, 0, 1, 4}};
  timeline.spans.start = {-5, 0, 1'000'000'000'000, 2'000'000'000'000};
  timeline.spans.duration = {3, 127, 128, 70'000};
  timeline.spans.label = {0, 1, 1, 1};
  timeline.spans.step = {-1, 4, 5, 4};
  timeline.spans.count = {1, 1, 1, 1};
  timeline.spans.busy = timeline.spans.duration;
  return timeline;
}

struct Unpacked {
  std::string header;
  std::map<std::string, std::vector<std::uint64_t>> columns;
};

Unpacked unpack(const std::string& bytes) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const std::size_t size = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
  Unpacked result;
  result.header = bytes.substr(4, size);
  std::size_t at = 4 + size;
  std::size_t found = result.header.find("\"columns\"");
  while ((found = result.header.find("\"name\":\"", found)) != std::string::npos) {
    const std::size_t name = found + 8;
    const std::string key = result.header.substr(name, result.header.find('"', name) - name);
    const std::size_t count =
        std::stoul(result.header.substr(result.header.find("count\":", name) + 7));
    std::vector<std::uint64_t>& values = result.columns[key];
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t value = 0;
      for (int shift = 0;; shift += 7) {
        value |= static_cast<std::uint64_t>(byte(at) & 0x7f) << shift;
        if (byte(at++) < 0x80) break;
      }
      values.push_back(value);
    }
    found = name;
  }
  EXPECT_EQ(at, bytes.size());
  return result;
}

std::int64_t from_zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

TEST(TimelinePack, SpansSurviveARoundTrip) {
  const Timeline timeline = small_timeline();
  const Unpacked unpacked = unpack(timeline_bytes(timeline));
  const auto& columns = unpacked.columns;
  EXPECT_EQ(columns.at("row.lane"), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(columns.at("row.spans"), (std::vector<std::uint64_t>{1, 3}));
  std::size_t i = 0;
  std::int64_t step = 0;
  for (const TimelineRow& row : timeline.rows) {
    Nanos end = 0;
    for (std::uint32_t span = row.first; span < row.last; ++span, ++i) {
      const Nanos start = end + from_zigzag(columns.at("span.gap")[i]);
      EXPECT_EQ(start, timeline.spans.start[span]);
      end = start + static_cast<Nanos>(columns.at("span.duration")[i]);
      EXPECT_EQ(end, timeline.spans.end(span));
      step += from_zigzag(columns.at("span.step")[i]);
      EXPECT_EQ(step, timeline.spans.step[span]);
    }
  }
}

TEST(TimelinePack, FrequentLabelsComeFirst) {
  const Unpacked unpacked = unpack(timeline_bytes(small_timeline()));
  EXPECT_NE(unpacked.header.find(R"("labels":["often",5,"rare",0])"), std::string::npos)
      << unpacked.header;
  EXPECT_EQ(unpacked.columns.at("span.label"), (std::vector<std::uint64_t>{1, 0, 0, 0}));
}

TEST(TimelinePack, CountsAreLeftOutIfNoSpansWereMerged) {
  Timeline timeline = small_timeline();
  EXPECT_EQ(unpack(timeline_bytes(timeline)).columns.count("span.more"), 0u);
  timeline.spans.count[2] = 9;
  timeline.spans.busy[2] = 100;
  const auto columns = unpack(timeline_bytes(timeline)).columns;
  EXPECT_EQ(columns.at("span.more"), (std::vector<std::uint64_t>{0, 0, 8, 0}));
  EXPECT_EQ(columns.at("span.pause"), (std::vector<std::uint64_t>{0, 0, 28, 0}));
}

}  // namespace
}  // namespace weft::report
