// SPDX-License-Identifier: Apache-2.0
// Computes the error bar of a predicted step from what the recording and the link tables show. The
// bar is meant to contain 90 % of measured runs of the job. README.md lists its parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/cost/links.h"
#include "weft/graph/graph.h"
#include "weft/predict/job.h"
#include "weft/predict/predict.h"

namespace weft::predict {

/// What a recording shows about the error of every prediction for its job.
struct ErrorEvidence {
  /// Relative standard error of a later run, as far as the differences between recorded steps show
  /// it.
  double steps = 0;
  double profiler = 0;         ///< removed cost of the profiler / the step without it
  bool ranks_missing = false;  ///< true if some ranks of the job were not recorded
  /// How often the number of workers was doubled beyond a measured number of ranks.
  double worker_doublings = 0;
  Nanos baseline = 0;  ///< predicted step without changes; 0 while it is unknown
};
ErrorEvidence error_evidence(const Job& job);

/// The step if the network is as slow or as fast as the evidence allows.
struct NetworkRange {
  Nanos slow = 0, fast = 0;
  Nanos latency = 0;  ///< the step if small transfers take as long as they may take at most
};

/// Sets `low` and `high`.
void set_error_bar(StepPrediction& step, const NetworkRange& range, const ErrorEvidence& evidence);

/// The times of the transfers of `graph` at the ends of their 90 % ranges. Entry i is the op
/// `transfers[i]`.
struct TransferRanges {
  std::vector<graph::OpId> transfers;
  std::vector<Nanos> slow, fast, latency;
};
TransferRanges transfer_ranges(const graph::Graph& graph, const cost::LinkModel& links);

/// Returns why the step cannot be predicted and what to measure, if it depends too much on the
/// latency of transfers that are smaller than all transfers with evidence.
std::optional<std::string> unknown_latency(const graph::Graph& graph, const cost::LinkModel& links,
                                           Nanos step, const NetworkRange& range);

}  // namespace weft::predict
