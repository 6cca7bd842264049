// SPDX-License-Identifier: Apache-2.0
// Writes a schedule as plain JSON: which devices run which op, and when. docs/formats/pipeline.md
// describes the format. This format can express every plan.
#pragma once

#include "weft/pipeline/exports/scheduled.h"

namespace weft::pipeline::exports {

Exported json_schedule(const Scheduled& scheduled);

}  // namespace weft::pipeline::exports
