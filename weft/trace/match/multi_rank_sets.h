// SPDX-License-Identifier: Apache-2.0
// For tests and benchmarks: lists the recordings with several ranks in a folder beside the source
// tree, and distorts their clocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/trace/clock/align.h"
#include "weft/trace/events.h"
#include "weft/trace/match/match.h"
#include "weft/trace/runs/load.h"

namespace weft::trace {

struct MultiRankSet {
  std::string name;
  std::vector<std::string> inputs;
  std::string run;        ///< as LoadOptions::run
  bool phases = false;    ///< an op timeline
  bool messages = false;  ///< a pipeline: sends and receives only
};

/// All sets under `traces`; empty if that folder does not exist.
inline std::vector<MultiRankSet> multi_rank_sets(const std::string& traces) {
  std::vector<MultiRankSet> sets;
  if (!std::filesystem::is_directory(traces)) return sets;
  sets.push_back(
      {"megatron-tp8", {traces + "/astra-sim_astra-sim/megatron-tp8/megatron_kineto_*"}, ""});
  const std::string torchrec = traces + "/meta-pytorch_torchrec/sst_long_a2a_optimizer";
  for (const char* tail : {"", "_4", "_5", "_5_qcomm"}) {
    sets.push_back({std::string("torchrec") + tail, {torchrec + tail}, ""});
  }
  for (const char* run : {"1", "2"}) {
    sets.push_back({std::string("torchrec_2 run ") + run, {torchrec + "_2"}, run});
  }
  for (const char* job : {"resnet50-w4", "vgg16-w2", "fsdp-gpt8l-w4", "tp-gpt8l-w2"}) {
    sets.push_back({job, {traces + "/h200-nccl/" + job + "-r*.json.gz"}, ""});
  }
  for (const char* job : {"pp-gpt8l-w2", "pp-gpt8l-w4"}) {
    sets.push_back({job, {traces + "/h200-nccl/" + job + "-r*.json.gz"}, "", false, true});
  }
  for (const char* job : {"ST", "AR"}) {
    sets.push_back({std::string("straggler ") + job,
                    {traces + "/ByteDance-Seed_StragglerAnalysis/timeline-" + job + ".json.gz"},
                    "",
                    true});
  }
  return sets;
}

/// A distorted clock. At time t it shows t + offset + rate * (t - origin). Here t counts from the
/// epoch of the run's first rank.
struct WrongClock {
  Nanos offset = 0;
  std::int64_t rate_ppb = 0;
  Nanos origin = 0;

  Nanos operator()(Nanos t) const {
    const double drift = static_cast<double>(t - origin) * static_cast<double>(rate_ppb) / 1e9;
    return t + offset + std::llround(drift);
  }
};

/// Rewrites the times of a trace as a distorted clock would have recorded them. `epoch` is the
/// epoch of the run's first rank, before any clock was distorted.
inline void put_wrong(RankTrace& trace, Nanos epoch, const WrongClock& clock) {
  const Nanos own = trace.epoch - epoch;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Nanos start = clock(trace.events.start[i] + own);
    trace.events.duration[i] = clock(trace.events.end(i) + own) - start;
    trace.events.start[i] = start;
  }
  for (StepMark& step : trace.steps) {
    step.start = clock(step.start + own);
    step.end = clock(step.end + own);
  }
  for (FlowPoint& flow : trace.flows) flow.time = clock(flow.time + own);
  trace.epoch = epoch;
}

/// Tests how well an alignment corrects distorted clocks. `recovered` is the alignment of the
/// distorted run, and `untouched` is the alignment of the original run. Each of the two alignments
/// gives every moment of each rank a time on the common clock. Returns the largest difference
/// between these two times.
inline Nanos recovery_error(const Run& run, const Alignment& untouched,
                            const std::vector<WrongClock>& wrong, const Alignment& recovered) {
  const Nanos epoch = run.ranks[0].epoch;
  Nanos worst = 0;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const Events& events = run.ranks[r].events;
    const std::size_t step = std::max<std::size_t>(1, events.size() / 64);
    for (std::size_t i = 0; i < events.size(); i += step) {
      const Nanos t = events.start[i] + (run.ranks[r].epoch - epoch);
      const Nanos there = aligned_time(recovered, r, epoch, wrong[r](t));
      // The common clock is the clock of the first rank, which may be distorted, too.
      const Nanos expected = wrong[0](aligned_time(untouched, r, epoch, t));
      worst = std::max(worst, std::abs(there - expected));
    }
  }
  return worst;
}

/// Time between the first and the last end of each match with several members, after the given
/// alignment; ascending.
inline std::vector<Nanos> end_spreads(const Run& run, const std::vector<Match>& matches,
                                      const Alignment& alignment) {
  std::vector<Nanos> spreads;
  for (const Match& match : matches) {
    if (match.members.size() < 2) continue;
    std::vector<Nanos> ends;
    for (const Member& m : match.members) {
      ends.push_back(aligned_time(alignment, m.rank, run.ranks[m.rank].epoch,
                                  run.ranks[m.rank].events.end(m.event)));
    }
    const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
    spreads.push_back(*high - *low);
  }
  std::sort(spreads.begin(), spreads.end());
  return spreads;
}

}  // namespace weft::trace
