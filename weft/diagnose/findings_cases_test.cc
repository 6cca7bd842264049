// SPDX-License-Identifier: Apache-2.0
// Runs the golden cases in tests/cases/findings. The input of a case is a graph in its text form
// (weft/graph/text.h) and, if needed, a section "loading": the intervals in which hosts fetched
// batches, one per line, as "rank=0 at=10us took=20us".
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "weft/base/golden_cases.h"
#include "weft/diagnose/diagnosis.h"
#include "weft/diagnose/made_job.h"
#include "weft/graph/text.h"

namespace weft::diagnose {
namespace {

const std::string kFolder = std::string(WEFT_SOURCE_DIR) + "/tests/cases/findings";

/// The output lists this many ops per finding.
constexpr std::size_t kOpsShown = 4;

/// Adds trace events whose names show data loading to the job.
Status add_loading(const std::string& lines, predict::Job& job) {
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    int rank = 0;
    long long at = 0, took = 0;
    if (line.empty()) continue;
    if (std::sscanf(line.c_str(), "rank=%d at=%lldus took=%lldus", &rank, &at, &took) != 3) {
      return fail(ErrorCode::kBadInput, "not a loading interval: " + line);
    }
    trace::RankTrace& trace = job.run.ranks.emplace_back();
    trace.rank = rank;
    trace::Events& events = trace.events;
    events.start.push_back(at * kMicrosecond);
    events.duration.push_back(took * kMicrosecond);
    events.name.push_back(trace.names.intern("enumerate(DataLoader)#__next__"));
    events.lane.push_back(0);
    events.correlation.push_back(0);
    events.detail.push_back(trace::kNone);
    events.external_id.push_back(-1);
    events.kind.push_back(trace::EventKind::kHostOp);
  }
  return {};
}

std::string us(Nanos time) { return fmt::format("{:g} us", static_cast<double>(time) / 1e3); }

std::string print(const graph::Graph& graph, const Finding& finding) {
  std::string text = fmt::format("{}: {}\n", info_of(finding.kind).id, finding.title);
  text += fmt::format("  gain {}, on ranks {}; most on rank {}, step {}, {}: {} per step, {} ops\n",
                      us(finding.gain), fmt::join(finding.ranks, " "), finding.rank, finding.step,
                      finding.lane, us(finding.time), finding.count);
  text += "  what: " + finding.what + "\n  advice: " + finding.advice + "\n";
  if (!finding.what_if.empty()) text += "  what-if: " + finding.what_if + "\n";
  text += "  longest ops:";
  for (std::size_t i = 0; i < std::min(kOpsShown, finding.ops.size()); ++i) {
    const auto& [op, time, pause] = finding.ops[i];
    text += fmt::format(" {} ({}, step {})", graph.name(op), us(time), graph.ops.step[op]);
  }
  return text + "\n";
}

Result<std::string> findings_of(const golden::Case& golden) {
  WEFT_ASSIGN(graph::Graph graph, graph::parse_text(golden.input("graph")));
  predict::Job job = recorded_job(std::move(graph));
  WEFT_TRY(add_loading(golden.input("loading"), job));
  WEFT_ASSIGN(const Diagnosis diagnosis, diagnose(job));
  std::string text = "verdict: " + diagnosis.verdict + "\n";
  for (const Finding& finding : diagnosis.findings) text += print(job.graph, finding);
  return text;
}

class FindingsCases : public testing::TestWithParam<std::string> {};

TEST_P(FindingsCases, GiveTheExpectedFindings) {
  const Status checked = golden::check(GetParam(), findings_of);
  EXPECT_TRUE(checked) << checked.error().text();
}

std::string case_name(const testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}

INSTANTIATE_TEST_SUITE_P(All, FindingsCases, testing::ValuesIn(golden::files(kFolder)), case_name);

}  // namespace
}  // namespace weft::diagnose
