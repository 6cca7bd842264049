// SPDX-License-Identifier: Apache-2.0
// What-ifs that change how long ops take. They do not add or remove ops or edges.
#pragma once

#include <cstdint>
#include <set>

#include "weft/base/result.h"
#include "weft/cost/links.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Multiplies the bandwidth and the latency of all links by factors. Each transfer time is a
/// latency, which does not depend on the size, plus a rest, which is divided by the bandwidth
/// factor.
void change_network(graph::Graph& graph, const cost::LinkModel& links, double bandwidth,
                    double latency);

/// Makes compute `factor` times as fast, on one rank or (`rank` -1) on all. The ranks in `on_host`
/// compute on the processors of their host: there, host ops and the delays between ops of the rank
/// count as compute, too. Collectives never do.
void change_compute(graph::Graph& graph, std::int32_t rank, double factor,
                    const std::set<std::int32_t>& on_host);

/// Data-parallel training with another number of workers, each with as much work as before. Only
/// the times of collectives change. If there is a link table for that many ranks, the times come
/// from it. Otherwise the recorded times are scaled as for a ring algorithm: bandwidth time by the
/// bytes that a ring moves over each link, latency by the number of its rounds. Exchanges with
/// parameter servers are scaled by the number of workers that share the link of a server;
/// `far_from_servers` is that number in the recording. An Error (kUsage) if the ranks communicate
/// in groups, or not at all.
Status change_workers(graph::Graph& graph, const cost::LinkModel& links, std::int32_t workers,
                      std::int32_t far_from_servers);

}  // namespace weft::predict
