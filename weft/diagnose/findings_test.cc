// SPDX-License-Identifier: Apache-2.0
#include "weft/diagnose/findings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "weft/diagnose/diagnosis.h"
#include "weft/diagnose/made_job.h"
#include "weft/graph/random_graph.h"
#include "weft/graph/text.h"
#include "weft/sim/naive.h"

namespace weft::diagnose {
namespace {

predict::Job job_of(std::string_view text) {
  auto graph = graph::parse_text(text);
  EXPECT_TRUE(graph) << graph.error().text();
  return graph ? recorded_job(std::move(*graph)) : predict::Job{};
}

// Two ranks, two steps. Rank 1 computes twice as long as rank 0 before they communicate.
constexpr const char* kSlowRank = R"(
  lane h0 host 0
  lane h1 host 1
  lane r0/s stream 0
  lane r1/s stream 1
  lane net link -
  step 1
  s0: host h0 0 "step"
  s1: host h1 0 "step"
  a1: kernel r0/s 100us "gemm"
  b1: kernel r1/s 200us "gemm"
  x1: arrive r0/s 0 after a1
  y1: arrive r1/s 0 after b1
  t1: transfer net 50us after x1:collective, y1:collective
  step 2
  a2: kernel r0/s 100us "gemm" after x1, t1:collective
  b2: kernel r1/s 200us "gemm" after y1, t1:collective
  x2: arrive r0/s 0 after a2
  y2: arrive r1/s 0 after b2
  t2: transfer net 50us after t1, x2:collective, y2:collective
  c1: collective allreduce ranks=2 bytes=1000 transfer=t1 arrivals=x1,y1
  c2: collective allreduce ranks=2 bytes=1000 transfer=t2 arrivals=x2,y2
)";

const Finding* find(const Diagnosis& diagnosis, FindingKind kind) {
  const auto found = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                  [&](const Finding& f) { return f.kind == kind; });
  return found == diagnosis.findings.end() ? nullptr : &*found;
}

TEST(Findings, StragglerNamesTheLateRankAndTheGain) {
  const auto diagnosis = diagnose(job_of(kSlowRank));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  EXPECT_EQ(diagnosis->step, 250'000);
  EXPECT_EQ(diagnosis->late_rank, 1);
  const Finding* straggler = find(*diagnosis, FindingKind::kStraggler);
  ASSERT_NE(straggler, nullptr);
  EXPECT_EQ(straggler->rank, 1);
  // With two peers the ideal time is their mean: 150 us instead of 200 us.
  EXPECT_EQ(straggler->gain, 50'000);
  EXPECT_EQ(straggler->lane, "s");
}

TEST(Findings, OneOfTwoRanksThatSleepsIsChargedTheWholePause) {
  std::string text = "lane net link -\nlane h0 host 0\nlane h1 host 1\n";
  for (int step = 1; step <= 3; ++step) {
    text += fmt::format("step {}\n", step);
    for (int r = 0; r < 2; ++r) {
      const std::string before = step == 1 ? "" : fmt::format(" after t{}:collective", step - 1);
      text += fmt::format("m{0}_{1}: host h{0} 1ms \"forward\"{2}\n", r, step, before);
      text += fmt::format("n{0}_{1}: host h{0} 173us \"aten::linear\" after m{0}_{1}+{2}us\n", r,
                          step, r == 1 ? 30'000 : 20);
      text += fmt::format("x{0}_{1}: arrive h{0} 0 after n{0}_{1}\n", r, step);
    }
    text +=
        fmt::format("t{0}: transfer net 100us after x0_{0}:collective, x1_{0}:collective\n", step);
  }
  for (int step = 1; step <= 3; ++step) {
    text += fmt::format(
        "c{0}: collective allreduce ranks=2 bytes=1000 transfer=t{0} arrivals=x0_{0},x1_{0}\n",
        step);
  }
  const auto diagnosis = diagnose(job_of(text));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  const Finding* straggler = find(*diagnosis, FindingKind::kStraggler);
  ASSERT_NE(straggler, nullptr);
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_EQ(straggler->gain, 29'980'000);
  EXPECT_EQ(straggler->pause, 29'980'000);
  EXPECT_EQ(straggler->ops.front().pause, 29'980'000);
  EXPECT_NE(straggler->what.find("100 % of its delay is in pauses"), std::string::npos)
      << straggler->what;
}

TEST(Findings, GainOfTransfersIsTheirExposedTime) {
  const auto diagnosis = diagnose(job_of(kSlowRank));
  const Finding* transfers = find(*diagnosis, FindingKind::kExposedCommunication);
  ASSERT_NE(transfers, nullptr);
  EXPECT_EQ(transfers->gain, 50'000);
  EXPECT_EQ(transfers->what_if, "comm=off");
}

TEST(Findings, CountOnlyOpsOfCompleteSteps) {
  const auto diagnosis = diagnose(job_of(R"(
  lane h0 host 0
  lane r0/s stream 0
  w: copy r0/s 900us "warm-up"
  step 1
  s1: host h0 0 "step"
  a1: copy r0/s 100us "copy" after w
  b1: kernel r0/s 100us "gemm" after a1
  step 2
  a2: copy r0/s 150us "copy" after b1
  b2: kernel r0/s 100us "gemm" after a2
)"));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  const Finding* copies = find(*diagnosis, FindingKind::kMemoryCopies);
  ASSERT_NE(copies, nullptr);
  EXPECT_EQ(copies->count, static_cast<std::int64_t>(copies->ops.size()));
  EXPECT_EQ(copies->count, static_cast<std::int64_t>(diagnosis->steps.size()));
  EXPECT_EQ(copies->step, 2);
  EXPECT_EQ(copies->ops.front().time, 150'000);
}

TEST(Findings, AreSortedByGainAndHaveTexts) {
  const auto diagnosis = diagnose(job_of(kSlowRank));
  ASSERT_TRUE(std::is_sorted(diagnosis->findings.begin(), diagnosis->findings.end(),
                             [](const Finding& a, const Finding& b) { return a.gain > b.gain; }));
  for (const Finding& finding : diagnosis->findings) {
    EXPECT_FALSE(finding.title.empty());
    EXPECT_FALSE(finding.what.empty());
    EXPECT_FALSE(finding.advice.empty());
  }
}

/// Makes a job with one rank. Step i is one kernel that takes `lengths_ms[i]`.
predict::Job job_of_steps(const std::vector<int>& lengths_ms) {
  std::string text = "lane h host 0\nlane s stream 0\nstep 1\nm: host h 0 \"step\"\n";
  for (std::size_t i = 0; i < lengths_ms.size(); ++i) {
    if (i > 0) text += fmt::format("step {}\n", i + 1);
    text += fmt::format("k{}: kernel s {}ms \"gemm\" after {}\n", i, lengths_ms[i],
                        i == 0 ? std::string("m:launch") : fmt::format("k{}", i - 1));
  }
  return job_of(text);
}

TEST(Findings, SlowStepIsComparedWithTheMedianStep) {
  const auto diagnosis = diagnose(job_of_steps({100, 100, 150, 100}));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  const Finding* slow = find(*diagnosis, FindingKind::kSlowStep);
  ASSERT_NE(slow, nullptr);
  EXPECT_EQ(slow->step, 3);
  EXPECT_EQ(slow->title, "the delay of step 3");
  EXPECT_EQ(slow->gain, 50 * kMillisecond / 4);
}

TEST(Findings, StepIsSlowFromFifteenPerCentAboveTheMedian) {
  for (const auto& [length, is_slow] : {std::pair{114, false}, std::pair{116, true}}) {
    const auto diagnosis = diagnose(job_of_steps({100, length, 100}));
    ASSERT_TRUE(diagnosis) << diagnosis.error().text();
    EXPECT_EQ(find(*diagnosis, FindingKind::kSlowStep) != nullptr, is_slow) << length;
  }
}

TEST(Findings, TwoStepsAreTooFewForASlowStep) {
  const auto diagnosis = diagnose(job_of_steps({100, 200}));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  EXPECT_EQ(find(*diagnosis, FindingKind::kSlowStep), nullptr);
}

TEST(Findings, SmallKernelsAreShorterThanTenMicroseconds) {
  const auto diagnosis = diagnose(job_of(R"(
  lane h host 0
  lane s stream 0
  step 1
  m: host h 0 "step"
  a: kernel s 100us "gemm" after m:launch
  b: kernel s 9us "add" after a
  c: copy s 9us "copy" after b
  d: kernel s 10us "norm" after c
)"));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  const Finding* small = find(*diagnosis, FindingKind::kSmallKernels);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(small->count, 1);
  EXPECT_EQ(small->gain, 9 * kMicrosecond);
}

TEST(Findings, DeviceGapsAreDelaysBetweenOpsOfAStream) {
  // The kernel c starts late only because the host launches it late. So the device is not at fault.
  // The pauses are longer than those that the time stamps of the profiler cause.
  const auto diagnosis = diagnose(job_of(R"(
  lane h host 0
  lane s stream 0
  step 1
  m: host h 0 "step"
  l: launch h 1us "launch" after m
  a: kernel s 100us "gemm" after l:launch
  b: kernel s 100us "gemm" after a+80us
  late: launch h 1us "launch" after l+300us
  c: kernel s 100us "gemm" after b, late+5us:launch
)"));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  EXPECT_EQ(diagnosis->step, 407 * kMicrosecond);
  const Finding* gaps = find(*diagnosis, FindingKind::kDeviceGaps);
  EXPECT_EQ(gaps, nullptr) << "the late launch hides the gap";
  const auto in_time = diagnose(job_of(R"(
  lane h host 0
  lane s stream 0
  step 1
  m: host h 0 "step"
  l: launch h 1us "launch" after m
  a: kernel s 100us "gemm" after l:launch
  b: kernel s 100us "gemm" after a+80us
)"));
  ASSERT_TRUE(in_time) << in_time.error().text();
  gaps = find(*in_time, FindingKind::kDeviceGaps);
  ASSERT_NE(gaps, nullptr);
  EXPECT_EQ(gaps->gain, 80 * kMicrosecond);
  EXPECT_EQ(gaps->count, 1);
  EXPECT_EQ(gaps->lane, "s");
}

TEST(FindingKinds, HaveDifferentIds) {
  std::set<std::string> ids;
  for (const FindingKindInfo& info : finding_kinds()) {
    EXPECT_EQ(&info_of(info.kind), &info);
    EXPECT_TRUE(ids.insert(info.id).second) << info.id;
  }
}

TEST(Findings, AJobWithoutFaultsHasNoFindings) {
  const auto diagnosis = diagnose(job_of(R"(
    lane s stream 0
    step 1
    a: kernel s 1ms
    step 2
    b: kernel s 1ms after a
  )"));
  ASSERT_TRUE(diagnosis);
  EXPECT_TRUE(diagnosis->findings.empty());
}

/// Four ranks launch forty kernels each. Rank r stops for 4 ms before launch i if stops(r, i).
template <class Stops>
predict::Job launching_job(Stops stops) {
  std::string text;
  for (int r = 0; r < 4; ++r) {
    text += fmt::format("lane h{0} host {0}\nlane s{0} stream {0}\n", r);
  }
  text += "step 1\n";
  for (int r = 0; r < 4; ++r) {
    text += fmt::format("m{0}: host h{0} 0 \"step\"\n", r);
    std::string last = fmt::format("m{}", r), kernel;
    for (int i = 0; i < 40; ++i) {
      text += fmt::format("l{0}_{1}: launch h{0} 10us \"launch\" after {2}+{3}us\n", r, i, last,
                          stops(r, i) ? 4000 : 5);
      last = fmt::format("l{}_{}", r, i);
      text += fmt::format("k{0}_{1}: kernel s{0} 8us \"gemm\" after {2}{3}:launch\n", r, i,
                          kernel.empty() ? "" : kernel + ", ", last);
      kernel = fmt::format("k{}_{}", r, i);
    }
  }
  return job_of(text);
}

TEST(Findings, HostStallsAreStopsAtRandomPlacesOfMostRanks) {
  const auto diagnosis = diagnose(launching_job([](int r, int i) { return i % 4 == r; }));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  const Finding* stalls = find(*diagnosis, FindingKind::kHostStalls);
  ASSERT_NE(stalls, nullptr);
  EXPECT_EQ(stalls->count, 40);
  // Ten stops, each of 4 ms minus the usual 5 us.
  EXPECT_EQ(stalls->gain, 10 * 3'995'000);
  EXPECT_EQ(stalls->ranks.size(), 4u);
}

TEST(Findings, ARankThatSleepsIsAStragglerWithoutHostStalls) {
  const auto diagnosis = diagnose(launching_job([](int r, int i) { return r == 2 && i % 4 == 0; }));
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  EXPECT_EQ(find(*diagnosis, FindingKind::kHostStalls), nullptr);
  const Finding* straggler = find(*diagnosis, FindingKind::kStraggler);
  ASSERT_NE(straggler, nullptr);
  EXPECT_EQ(straggler->rank, 2);
}

TEST(Removals, LeaveEverythingElseAsItWas) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const graph::Graph graph = graph::RandomGraph(seed).job(3, 60);
    Removal removal;
    for (graph::EdgeId e = 0; e < graph.edges.size(); ++e) {
      const bool collective = graph.edges[e].kind == graph::EdgeKind::kCollective;
      if (e % 5 == 0 && !collective) removal.removed_edges.push_back(e);
      if (e % 7 == 1) removal.delays.emplace_back(e, 0);
    }
    for (graph::OpId op = 0; op < graph.size(); op += 3) removal.durations.emplace_back(op, 1);
    const graph::Graph out = graph::apply(graph, removal).value();
    EXPECT_TRUE(graph::verify(out)) << graph::verify(out).error().text();
    EXPECT_EQ(out.edges.size(), graph.edges.size() - removal.removed_edges.size());
    sim::Replay replay(out);
    replay.run();
    const sim::NaiveTimes naive = sim::simulate_naively(out);
    EXPECT_TRUE(std::equal(naive.end.begin(), naive.end.end(), replay.ends().begin()));
  }
}

}  // namespace
}  // namespace weft::diagnose
