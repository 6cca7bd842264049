// SPDX-License-Identifier: Apache-2.0
// Where a rank's time goes. Every instant of a step has exactly one cause, so causes add up to the
// step in whole nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/predict/job.h"
#include "weft/predict/steps.h"

namespace weft::diagnose {

/// In order of precedence: where several hold at one instant, the first counts.
enum class Cause : std::uint8_t {
  kCompute,      ///< a kernel runs (op timelines: any work)
  kMemoryCopy,   ///< a copy or memset runs
  kTransfer,     ///< data of a collective or message moves, and nothing above hides it
  kWaiting,      ///< ready to communicate, another rank is not
  kDataLoading,  ///< the device is idle and the host fetches the next batch
  kHostLaunch,   ///< the device is idle and the host is busy: work is not launched fast enough
  kIdle,         ///< nothing recorded explains it
};
constexpr std::size_t kCauses = 7;

/// "compute", "memory_copy", "exposed_transfer", "waiting", "data_loading", "host_launch", "idle".
const char* cause_name(Cause cause);

/// A stretch of time, split by cause.
struct CauseTimes {
  std::array<Nanos, kCauses> by_cause{};
  /// kWaiting once more, by the rank that came last; adds up to it. -1: not recorded.
  std::map<std::int32_t, Nanos> waiting_for;

  Nanos& operator[](Cause cause) { return by_cause[static_cast<std::size_t>(cause)]; }
  Nanos operator[](Cause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
  Nanos total() const;
  /// Names as the JSON has them, waiting split into "waiting_for_rank_2" and so on; only what is
  /// not 0, in order of precedence.
  std::vector<std::pair<std::string, Nanos>> named() const;
};

struct RankCauses {
  std::int32_t rank = -1;
  std::vector<CauseTimes> steps;  ///< one for each complete step
  /// Mean over the complete steps, rounded so that its parts still add up to its total.
  CauseTimes mean;
  Nanos communication = 0;  ///< mean time in which data moves, hidden or not
  Nanos hidden = 0;         ///< the part of it behind compute and copies
};

/// A timeline: when each op of the job's graph starts and ends.
struct Times {
  std::span<const Nanos> starts;
  std::span<const Nanos> ends;
};

/// By rank, in the order of `steps.ranks`. A step is complete if every rank has it. The window of a
/// step is its period: from the end of the step before to its own end.
std::vector<RankCauses> find_causes(const predict::Job& job, const Times& times,
                                    const predict::StepTimes& steps);

/// Indices into steps.steps of those that every rank has; all of them if there is no such step.
std::vector<std::size_t> complete_steps(const predict::StepTimes& steps);

}  // namespace weft::diagnose
