// SPDX-License-Identifier: Apache-2.0
// Measures how well Weft matches collectives and aligns clocks on real recordings.
// For every recording of several ranks it prints
// - how many calls and matches there are. A match is the calls of several ranks that are one
//   collective. All calls of a match end at about the same time, so the bench also prints how far
//   apart their ends are before and after alignment;
// - the error that remains after the bench has changed the clocks by up to 50 ms (and, in long
//   recordings, by a drift of 50 ppm) and has aligned them again.
// The true clocks of a recording are unknown. The second figure therefore compares two alignments:
// that of the recording as it is, and that of the recording with falsified clocks.
// Usage: align_bench [TRACES]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "weft/trace/clock/align.h"
#include "weft/trace/match/match.h"
#include "weft/trace/match/multi_rank_sets.h"
#include "weft/trace/runs/load.h"

namespace {

using namespace weft;
using namespace weft::trace;

double us(Nanos t) { return static_cast<double>(t) / 1e3; }

struct Spread {
  Nanos median = 0;
  Nanos p90 = 0;
};

/// Quantiles of the time between the first and the last end of a match, with the clocks of all
/// ranks corrected by `alignment`.
Spread spread_of(const Run& run, const std::vector<Match>& matches, const Alignment& alignment) {
  const std::vector<Nanos> spreads = end_spreads(run, matches, alignment);
  if (spreads.empty()) return {};
  return {spreads[spreads.size() / 2], spreads[spreads.size() * 9 / 10]};
}

/// The alignment of a copy of `run` whose clocks are falsified by `wrong`, one entry per rank.
Alignment align_wrong(const Run& run, const std::vector<WrongClock>& wrong) {
  Run copy = run;
  for (std::size_t r = 0; r < copy.ranks.size(); ++r) {
    put_wrong(copy.ranks[r], run.ranks[0].epoch, wrong[r]);
  }
  Diagnostics diagnostics;
  return align(copy, match_calls(copy, diagnostics), {}, diagnostics);
}

void report(const MultiRankSet& set) {
  Diagnostics diagnostics;
  LoadOptions load_options;
  load_options.run = set.run;
  auto recording = load(set.inputs, load_options, diagnostics);
  if (!recording) {
    std::printf("%-16s %s\n", set.name.c_str(), recording.error().text().c_str());
    return;
  }
  const Run& run = recording->runs.front();
  const auto begin = std::chrono::steady_clock::now();
  const auto calls = find_calls(run);
  const std::vector<Match> matches = match_calls(run, calls, diagnostics);
  const auto middle = std::chrono::steady_clock::now();
  const Alignment alignment = align(run, matches, {}, diagnostics);
  const auto end = std::chrono::steady_clock::now();
  auto ms = [](auto from, auto to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
  };

  std::size_t total = 0;
  for (const auto& list : calls) total += list.size();
  std::size_t complete = 0;
  std::size_t alone = 0;
  for (const Match& m : matches) {
    complete += m.complete() ? 1 : 0;
    alone += m.members.size() == 1 ? 1 : 0;
  }
  // With these corrections, which change nothing, the spread is that of the recorded clocks.
  Alignment raw = alignment;
  for (ClockFit& fit : raw.ranks) fit = ClockFit{};
  const Spread before = spread_of(run, matches, raw);
  const Spread after = spread_of(run, matches, alignment);
  Nanos offset = 0;
  Nanos uncertainty = 0;
  for (const ClockFit& fit : alignment.ranks) {
    offset = std::max(offset, std::abs(fit.offset));
    uncertainty = std::max(uncertainty, fit.offset_uncertainty);
  }

  // A fixed seed: figures of two versions of Weft must be comparable.
  std::mt19937 random(7);
  std::uniform_int_distribution<Nanos> pick(-50 * kMillisecond, 50 * kMillisecond);
  Nanos worst = 0;
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<WrongClock> wrong(run.ranks.size());
    for (WrongClock& w : wrong) w.offset = pick(random);
    worst = std::max(worst, recovery_error(run, alignment, wrong, align_wrong(run, wrong)));
  }
  // Drift is tested only on op timelines, because they are long. In a profile of a few steps, a
  // drift of 50 ppm would shift no event by more than the noise.
  std::string drift = "-";
  if (set.phases) {
    std::vector<WrongClock> wrong(run.ranks.size());
    for (std::size_t r = 0; r < wrong.size(); ++r) {
      wrong[r] = {pick(random), r % 3 == 1 ? 50'000 : (r % 3 == 2 ? -50'000 : 0), 0};
    }
    const Nanos error = recovery_error(run, alignment, wrong, align_wrong(run, wrong));
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", us(error));
    drift = text;
  }
  std::printf(
      "%-16s %5zu %6zu %7zu %8zu %6zu %8.1f %8.1f %8.1f %8.1f %7.1f %6.1f %9.2f %8s %7.1f %7.1f\n",
      set.name.c_str(), run.ranks.size(), total, matches.size(), complete, alone, us(before.median),
      us(before.p90), us(after.median), us(after.p90), us(offset), us(uncertainty), us(worst),
      drift.c_str(), ms(begin, middle), ms(middle, end));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string traces = argc > 1 ? argv[1] : WEFT_SOURCE_DIR "/../shared/traces";
  const auto sets = multi_rank_sets(traces);
  if (sets.empty()) {
    std::printf("align_bench: there are no recordings in %s; give their folder as argument\n",
                traces.c_str());
    return 0;
  }
  std::printf(
      "spreads, offsets and errors in microseconds; drift: the error after 50 ppm of drift\n");
  std::printf("%-16s %5s %6s %7s %8s %6s %8s %8s %8s %8s %7s %6s %9s %8s %7s %7s\n", "set", "ranks",
              "calls", "matches", "complete", "alone", "raw p50", "raw p90", "p50", "p90", "offset",
              "+-", "50ms err", "drift", "match", "align");
  std::printf("%137s\n", "(ms)    (ms)");
  for (const MultiRankSet& set : sets) report(set);
  return 0;
}
