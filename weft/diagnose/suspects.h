// SPDX-License-Identifier: Apache-2.0
// Looks for suspects: things that could be removed from a job. The functions here return data only.
// finding_text.cc writes what a finding says about this data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weft/diagnose/findings.h"
#include "weft/graph/graph.h"
#include "weft/sim/replay.h"

namespace weft::diagnose {

/// The data that all these functions use.
struct Evidence {
  const predict::Job& job;
  const graph::Graph& graph;               ///< working_graph(job)
  const sim::Replay& replay;               ///< a replay of `graph` whose run() has been called
  const predict::StepTimes& steps;         ///< the steps of that replay
  const sim::StragglerReport* stragglers;  ///< nullptr if there is only one rank
};

struct StragglerFacts {
  std::int32_t stage = -1;  ///< -1 if the straggler is one rank or several ranks together
  double share = 0;         ///< the straggler's share of the time that all stragglers cost
};
struct ImbalanceFacts {
  double slowdown = 1;  ///< recorded step / step with ideal times
};
struct HostStallFacts {
  std::size_t stalls = 0;  ///< number of stalls on all ranks that have many stalls
  Nanos median = 0;        ///< median length of a stall
};
struct SlowStepFacts {
  std::int64_t step = -1;  ///< step number, as the framework counts steps
  Nanos length = 0;
  Nanos median = 0;  ///< median length of all complete steps
};
/// How the job trains in parallel, as far as its recording shows it. The advice depends on it.
enum class Parallelism { kUnknown, kReplicated, kSharded };
struct CommunicationFacts {
  std::size_t operations = 0;  ///< number of collectives and messages
  std::size_t groups = 0;  ///< number of different groups (kind, process group, number of ranks)
  /// The kind of the group whose transfers take most time. nullopt if there are no groups.
  std::optional<trace::CollectiveKind> main_kind;
  Parallelism parallelism = Parallelism::kUnknown;
};
struct CollectiveFacts {
  trace::CollectiveKind kind = trace::CollectiveKind::kOther;
  std::string group;
  std::int32_t ranks = 0;
  std::int64_t operations = 0;
  Bytes bytes = 0;               ///< 0 if unknown
  bool only_of_its_kind = true;  ///< false if another group has collectives of this kind
  Parallelism parallelism = Parallelism::kUnknown;
};
struct PythonTimeFacts {
  Nanos longest = 0;       ///< length of the longest pause
  std::string before;      ///< name of the op that follows the longest pause
  std::int64_t step = -1;  ///< step of this op; -1 if it belongs to no step
};
struct SmallKernelFacts {
  Nanos time = 0;  ///< time of all small kernels on all ranks
};

/// Something that could be removed. Its gain is not yet known, and its removal may be empty.
struct Suspect {
  FindingKind kind = FindingKind::kStraggler;
  Removal removal;
  /// For kStraggler: the culprits, the worst first; otherwise empty.
  std::vector<std::int32_t> ranks;
  /// The data besides the removal that the text of this kind needs. monostate if it needs none.
  std::variant<std::monostate, StragglerFacts, ImbalanceFacts, HostStallFacts, SlowStepFacts,
               CommunicationFacts, CollectiveFacts, PythonTimeFacts, SmallKernelFacts>
      facts;
};

/// Finds suspects of the kinds kStraggler, kHostStalls and kImbalance.
std::vector<Suspect> slow_ranks(const Evidence& evidence);
/// Finds suspects of the kind kSlowStep.
std::vector<Suspect> slow_steps(const Evidence& evidence);
/// Finds suspects of the kinds kExposedCommunication and kCollective.
std::vector<Suspect> communication(const Evidence& evidence);
/// Finds suspects of the kinds kHostBound, kDataLoading, kPythonTime and kHostSync.
std::vector<Suspect> host_work(const Evidence& evidence);
/// Finds suspects of the kinds kMemoryCopies, kSmallKernels and kDeviceGaps.
std::vector<Suspect> device_work(const Evidence& evidence);
/// Finds suspects of the kind kProfiler: the cost of the profiler.
std::vector<Suspect> profiler_cost(const Evidence& evidence);

/// Fills the fields rank, step, lane, ranks, time, count and ops of the finding from its removal.
void locate(const Evidence& evidence, Finding& finding);

}  // namespace weft::diagnose
