// SPDX-License-Identifier: Apache-2.0
// Handles recorded processes of a job that are not ranks ("services"): parameter servers, and the
// chief of a TensorFlow job. The chief gives work to the workers, and it is the only process that
// counts the steps. Traces of services are recognised by the file names that `weft record` gives
// them.
#pragma once

#include <string_view>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// Whether the file has the name of a service, for example "server0.mxnet.json" or
/// "chief.xplane.pb".
bool is_service_file(std::string_view path);

/// Moves each service to the first run whose files lie in the same folder. Services without such a
/// run stay in `services`.
void attach_services(std::vector<Run>& runs, std::vector<RankTrace>& services);

/// Adds to the ranks what the services recorded about them: exchanges with servers and, if a rank
/// marks no steps, the steps of the chief. At the end of a step the chief waits for all ranks, so
/// each step ends with a barrier. The offset of a service's clock on another host follows from the
/// recorded transfers between the hosts. So attach the logs of probes before this call.
void join_services(Run& run, Diagnostics& diagnostics);

/// Returns the number of ranks that reach a parameter server over a network (and not on their own
/// host). If there are several servers, returns the largest number for a single server. If no
/// server was recorded, returns the number of ranks that talk mostly to other hosts.
std::int32_t ranks_far_from_servers(const Run& run);

}  // namespace weft::trace
