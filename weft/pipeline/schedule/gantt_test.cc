// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/gantt.h"

#include <gtest/gtest.h>

#include "weft/pipeline/schedule/families.h"

namespace weft::pipeline {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

struct Example {
  Pipeline pipeline = make_chain({2, 2}, {1, 1}, {1, 1}, 0, 2);
  Schedule plain = *one_f_one_b(pipeline);
  Schedule halved = *zb_h1(pipeline);
  Timeline first = *simulate(pipeline, plain);
  Timeline second = *simulate(pipeline, halved);
  std::vector<Drawn> both() const {
    return {{"1F1B", &pipeline, &plain, &first}, {"<ZB>", &pipeline, &halved, &second}};
  }
};

TEST(Gantt, TextHasALetterForEachOpAndAShadeForIdleTime) {
  const Example example;
  const auto drawn = example.both();
  EXPECT_EQ(gantt_text({drawn.data(), 1}, 15),
            "1F1B: 12, idle 33.3 %\n"
            "0  FFFF░░BB░░BB\n"
            "1  ░░FFBBFFBB░░\n");
}

TEST(Gantt, SchedulesShareOneTimeScale) {
  const Example example;
  const std::string text = gantt_text(example.both(), 15);
  EXPECT_NE(text.find("0  FFFF░I"), std::string::npos) << text;
  EXPECT_LT(example.second.makespan, example.first.makespan);
}

TEST(Gantt, SvgHasARectangleForEachOpAndAShadedBarForEachDevice) {
  const Example example;
  const std::string svg = gantt_svg(example.both());
  EXPECT_EQ(count(svg, "<title>"), 8u + 12u);
  EXPECT_EQ(count(svg, "fill=\"url(#idle)\""), 2u + 2u + 1u);  // and the legend
  EXPECT_NE(svg.find("&lt;ZB>"), std::string::npos);
  EXPECT_NE(svg.find("<title>1B0 4..6</title>"), std::string::npos);
}

TEST(Gantt, RowsMayHaveNamesAndTimesAUnit) {
  const Example example;
  auto drawn = example.both();
  drawn[0].rows = {"0,1", "2"};
  drawn[0].in_nanos = true;
  const std::string text = gantt_text({drawn.data(), 1}, 17);
  EXPECT_EQ(text,
            "1F1B: 0.000 ms, idle 33.3 %\n"
            "0,1  FFFF░░BB░░BB\n"
            "  2  ░░FFBBFFBB░░\n");
  EXPECT_NE(gantt_svg(drawn).find(">device 0,1</text>"), std::string::npos);
}

TEST(Gantt, IdleShareCountsAllDevicesUntilTheStepEnds) {
  const Example example;
  EXPECT_DOUBLE_EQ(idle_share(example.first), 1 - 16.0 / 24.0);
}

}  // namespace
}  // namespace weft::pipeline
