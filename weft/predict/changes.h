// SPDX-License-Identifier: Apache-2.0
// Applies the what-ifs that change how long ops take. The functions here do not add or remove ops
// or edges.
#pragma once

#include <cstdint>
#include <set>

#include "weft/base/result.h"
#include "weft/cost/links.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Multiplies the bandwidth and the latency of all links by factors. Each transfer time has two
/// parts. The latency does not depend on the size. The rest of the time is divided by the bandwidth
/// factor.
void change_network(graph::Graph& graph, const cost::LinkModel& links, double bandwidth,
                    double latency);

/// Makes the compute of `rank` `factor` times as fast. If `rank` is -1, does this for all ranks.
/// The ranks in `on_host` compute on the processors of their host. On these ranks, host ops and the
/// delays between ops of the rank count as compute, too. Collectives never count as compute.
void change_compute(graph::Graph& graph, std::int32_t rank, double factor,
                    const std::set<std::int32_t>& on_host);

/// The measurements that a number of workers is extrapolated from.
struct WorkerEvidence {
  std::int32_t ranks = 0;  ///< a measured number of ranks; of all collectives, the furthest one
  double doublings = 0;    ///< |log2(workers / ranks)|; 0 if transfers of all workers were measured
};

/// Finds for each collective the measured number of ranks that is nearest to `workers`: that of the
/// recording or that of a link table. Returns the result of the collective for which it is
/// furthest.
WorkerEvidence worker_evidence(const graph::Graph& graph, const cost::LinkModel& links,
                               std::int32_t workers);

/// Changes the number of workers of data-parallel training. Each worker has as much work as before,
/// so only the times of collectives change. They are scaled as for a ring algorithm, from the
/// measured number of ranks that is nearest to `workers`; see worker_evidence(). The bandwidth part
/// of a time is scaled by the bytes that a ring moves over each link, and the latency by the number
/// of the ring's rounds. Exchanges with parameter servers are scaled by the number of workers that
/// share the link of a server. `far_from_servers` is this number in the recording. An Error
/// (kUsage) if the ranks communicate in groups, or not at all, or if the measured numbers of ranks
/// are too far from `workers`.
Status change_workers(graph::Graph& graph, const cost::LinkModel& links, std::int32_t workers,
                      std::int32_t far_from_servers);

}  // namespace weft::predict
