// SPDX-License-Identifier: Apache-2.0
// Recorded processes of a job that are no ranks: parameter servers, and the chief that has workers
// run steps which it counts alone. Told by the names that `weft record` gives to their files.
#pragma once

#include <string_view>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// "server0.mxnet.json", "chief.xplane.pb".
bool is_service_file(std::string_view path);

/// Gives each service to the run whose files lie beside it, the first of several. Those that have
/// no run stay in `services`.
void attach_services(std::vector<Run>& runs, std::vector<RankTrace>& services);

/// Tells ranks what their services know about them: what they exchange with servers, and, where
/// they mark no steps, those of the chief, at whose end it waits for all of them. Clocks of other
/// hosts are set by the transfers recorded between them, so those must be attached before.
void join_services(Run& run, Diagnostics& diagnostics);

/// How many ranks reach a parameter server over a network, rather than on its host; of several
/// servers, the one that most do. Where servers were not recorded, those that talk to other hosts.
std::int32_t ranks_far_from_servers(const Run& run);

}  // namespace weft::trace
