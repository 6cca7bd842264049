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

/// Gives each service to the run whose files lie beside it, the first of several. Ranks of that run
/// which mark no steps take those of a service that does, by the clocks of their hosts. Services
/// that have no run stay in `services`.
void attach_services(std::vector<Run>& runs, std::vector<RankTrace>& services,
                     Diagnostics& diagnostics);

}  // namespace weft::trace
