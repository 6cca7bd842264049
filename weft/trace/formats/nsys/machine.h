// SPDX-License-Identifier: Apache-2.0
// Reads what an export says about the machine and the recording session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/trace/formats/nsys/database.h"

namespace weft::trace::nsys {

struct Machine {
  std::string host;
  std::vector<std::string> devices;  ///< GPU names, by ordinal
  Nanos epoch = 0;                   ///< absolute time of time 0 in the export
  /// From the environment variables of the process nsys; -1 if they do not contain a rank. This is
  /// the rank of the recorded process only if the launcher starts one nsys per rank.
  std::int32_t rank = -1;
  std::int32_t world = -1;
};

Result<Machine> read_machine(const Database& database);

/// The number that an environment variable has in a text such as "OMP=4\nRANK=3" or {"RANK":"3"}:
/// 3 for the name RANK. -1 if the text does not have the variable. A longer name with the same end,
/// such as LOCAL_RANK, is another variable.
std::int32_t variable(std::string_view environment, std::string_view name);

}  // namespace weft::trace::nsys
