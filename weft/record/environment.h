// SPDX-License-Identifier: Apache-2.0
// Makes the environment of a recorded process. Only environment variables configure hooks
// (python/weft) and probes (probes/). Weft sets these variables for them:
//
//   WEFT_RECORD          the folder to write to; absolute
//   WEFT_RECORD_STEPS    "10..14": the first and the last step to record; steps count from 0
//   WEFT_RECORD_OPTIONS  a list of shapes, memory, stacks, separated by commas
//   WEFT_RECORD_WAIT     "1": probes record nothing until a hook starts them. Otherwise they
//                        record from the start of the process until a hook stops them
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/record/parts.h"

namespace weft::record {

struct Steps {
  std::int64_t first = 10;
  std::int64_t last = 14;

  bool operator==(const Steps&) const = default;
};

/// Reads "10..14" or "10". Step 0 is an Error: hooks see only the ends of steps, so the beginning
/// of step 0 is unknown.
Result<Steps> parse_steps(std::string_view text);
/// "10..14".
std::string to_text(const Steps& steps);

/// What to record.
struct Request {
  std::string folder;  ///< where to write to; absolute
  Steps steps;
  bool shapes = true;
  bool memory = false;
  bool stacks = false;
  bool wire = true;  ///< also record socket calls
  bool mpi = false;  ///< also record MPI calls, from the start, because no hook can start probes
};

/// Returns `inherited` (entries "NAME=value") with the variables that the request adds. Lists of
/// the user (PYTHONPATH, LD_PRELOAD) stay; our entries are put in front. If the user has set a
/// Horovod timeline or an NCCL plug-in, this setting stays.
std::vector<std::string> recording_environment(const Request& request, const Parts& parts,
                                               std::vector<std::string> inherited);

}  // namespace weft::record
