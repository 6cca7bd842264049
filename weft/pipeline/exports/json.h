// SPDX-License-Identifier: Apache-2.0
// A schedule as plain JSON: who runs what, and when (docs/formats/pipeline.md). Any plan can be
// told in it.
#pragma once

#include "weft/pipeline/exports/scheduled.h"

namespace weft::pipeline::exports {

Exported json_schedule(const Scheduled& scheduled);

}  // namespace weft::pipeline::exports
