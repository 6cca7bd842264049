// SPDX-License-Identifier: Apache-2.0
#include "weft/report/page/small_page.h"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

using diagnose::Cause;

diagnose::Diagnosis diagnosis_of(std::int32_t ranks) {
  diagnose::Diagnosis diagnosis;
  diagnosis.label = "a <job>";
  diagnosis.verdict = "step 10.0 ms";
  diagnosis.step = 10 * kMillisecond;
  for (std::int32_t r = 0; r < ranks; ++r) {
    diagnose::RankDiagnosis& rank = diagnosis.ranks.emplace_back();
    rank.rank = r;
    rank.step = (10 - r % 2) * kMillisecond;
    rank.causes.mean[Cause::kCompute] = rank.step;
  }
  return diagnosis;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++times;
  return times;
}

TEST(SmallPage, HasABarForEachRankInTheColoursOfThePage) {
  const std::string page = small_page(diagnosis_of(3));
  EXPECT_EQ(count(page, "<tr>"), 3u);
  EXPECT_EQ(count(page, "background:#"), 4u);  // one per bar, and one in the legend
  EXPECT_EQ(count(page, "compute: 10.0 ms"), 2u);
}

TEST(SmallPage, ShowsTheSlowestOfManyRanks) {
  const std::string page = small_page(diagnosis_of(20));
  EXPECT_EQ(count(page, "compute: 10.0 ms"), 8u);
  EXPECT_NE(page.find("12 faster ranks"), std::string::npos);
}

TEST(SmallPage, NamesAreEscaped) {
  diagnose::Diagnosis diagnosis = diagnosis_of(1);
  diagnosis.findings.emplace_back().what = "<script>";
  const std::string page = small_page(diagnosis);
  EXPECT_NE(page.find("a &lt;job>"), std::string::npos);
  EXPECT_EQ(page.find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace weft::report
