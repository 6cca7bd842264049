// SPDX-License-Identifier: Apache-2.0
// What-ifs that change how long ops take and leave the graph's structure as it is.
#pragma once

#include <cstdint>
#include <set>

#include "weft/base/result.h"
#include "weft/cost/links.h"
#include "weft/graph/graph.h"

namespace weft::predict {

/// Links with other bandwidth and latency (factors). A transfer is latency, which does not depend
/// on its size, and the rest, which bandwidth divides.
void change_network(graph::Graph& graph, const cost::LinkModel& links, double bandwidth,
                    double latency);

/// Compute `factor` times as fast, on one rank or (-1) on all. Ranks in `on_host` compute on the
/// processors of their host: there host work and what lies between is compute, too, but for
/// collectives.
void change_compute(graph::Graph& graph, std::int32_t rank, double factor,
                    const std::set<std::int32_t>& on_host);

/// Data-parallel training on another number of workers, each with as much work as before: what
/// changes are the collectives of all of them. Times come from a table for that many ranks, else
/// the recorded ones are scaled by what a ring moves over each link, and by its rounds; exchanges
/// with parameter servers by how many workers share the link of a server, of which so far there
/// are `far_from_servers`. An Error (kUsage) where ranks communicate in groups, or not at all.
Status change_workers(graph::Graph& graph, const cost::LinkModel& links, std::int32_t workers,
                      std::int32_t far_from_servers);

}  // namespace weft::predict
