// SPDX-License-Identifier: Apache-2.0
// What an export says about the machine and the session.
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
  std::vector<std::string> devices;  ///< names, by ordinal
  Nanos epoch = 0;                   ///< absolute time of the recording's time 0
  /// From the environment in which nsys ran, -1 if it does not tell. It is that of the job's
  /// process only where the launcher starts one nsys for each rank.
  std::int32_t rank = -1;
  std::int32_t world = -1;
};

Result<Machine> read_machine(const Database& database);

/// The number behind a variable's name: of RANK in "OMP=4\nRANK=3" or {"RANK":"3"}; -1 if it is not
/// there. Names that only end alike (LOCAL_RANK) do not count.
std::int32_t variable(std::string_view environment, std::string_view name);

}  // namespace weft::trace::nsys
