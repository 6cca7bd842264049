// SPDX-License-Identifier: Apache-2.0
// What a recorded process is told, all of it through its environment. Hooks (python/weft) and
// probes (probes/) read these variables and no others:
//
//   WEFT_RECORD          the folder to write to, absolute
//   WEFT_RECORD_STEPS    "10..14": the first and the last step to record; steps count from 0
//   WEFT_RECORD_OPTIONS  of shapes, memory, stacks, with commas between
//   WEFT_RECORD_WAIT     "1": probes record nothing until a hook opens their window; else from
//                        the start, until a hook closes it
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

/// From "10..14" or "10". Step 0 cannot be recorded: hooks see steps end, so nothing tells where it
/// begins.
Result<Steps> parse_steps(std::string_view text);
/// "10..14".
std::string to_text(const Steps& steps);

struct Request {
  std::string folder;  ///< absolute
  Steps steps;
  bool shapes = true;
  bool memory = false;
  bool stacks = false;
  bool wire = true;  ///< socket calls as well
  bool mpi = false;  ///< MPI's calls as well, from the start: programs of MPI have no hook
};

/// `inherited` ("NAME=value") with all that the request adds. What the user has set already is
/// kept: lists get ours in front, and a timeline or plug-in of the user's own stays.
std::vector<std::string> recording_environment(const Request& request, const Parts& parts,
                                               std::vector<std::string> inherited);

}  // namespace weft::record
