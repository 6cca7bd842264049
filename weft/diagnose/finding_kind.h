// SPDX-License-Identifier: Apache-2.0
// The kinds of findings. This is the only list of them: code compares enumerators, and results show
// the id. The texts are in finding_text.cc.
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
  kHostSync,
  kMemoryCopies,
  kSmallKernels,
  kDeviceGaps,
  kProfiler,
};

struct FindingKindInfo {
  FindingKind kind;
  const char* id;           ///< stable: the value of "kind" in JSON, and what users filter on
  const char* title;        ///< what is removed; findings with numbers in their title extend it
  const char* description;  ///< one line, for `weft list findings`
};

/// All kinds, in the order of the enumerators.
std::span<const FindingKindInfo> finding_kinds();
/// The registry entry of a kind.
const FindingKindInfo& info_of(FindingKind kind);

}  // namespace weft::diagnose
