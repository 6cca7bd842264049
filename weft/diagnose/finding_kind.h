// SPDX-License-Identifier: Apache-2.0
// Lists the kinds of findings. Code compares the enumerators. JSON and the command line use the
// ids, which are in finding_text.cc together with the texts.
#pragma once

#include <cstdint>
#include <span>

namespace weft::diagnose {

enum class FindingKind : std::uint8_t {
  kStraggler,
  kImbalance,
  kHostStalls,
  kSlowStep,
  kExposedCommunication,
  kCollective,
  kHostBound,
  kDataLoading,
  kPythonTime,
  kHostSync,
  kMemoryCopies,
  kSmallKernels,
  kDeviceGaps,
  kProfiler,
};

struct FindingKindInfo {
  FindingKind kind;
  const char* id;     ///< never changes: it is the value of "kind" in JSON, and users filter by it
  const char* title;  ///< what is removed; if the title has numbers in it, this is its beginning
  const char* description;  ///< one line, for `weft list findings`
};

/// Returns all kinds, in the order of the enumerators.
std::span<const FindingKindInfo> finding_kinds();
/// Returns the texts of a kind.
const FindingKindInfo& info_of(FindingKind kind);

}  // namespace weft::diagnose
