// SPDX-License-Identifier: Apache-2.0
// Field numbers and enum values of the messages that write_perfetto() uses, from
// perfetto_trace.proto of the Perfetto project. These numbers never change: new versions of the
// format only add fields.
#pragma once

#include <cstdint>

namespace weft::report::field {

using Tag = std::uint32_t;

// Trace
constexpr Tag kTracePacket = 1;
// TracePacket
constexpr Tag kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
              kInternedData = 12, kSequenceFlags = 13, kPacketDefaults = 59, kTrackDescriptor = 60,
              kFirstOnSequence = 87;
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;  // SequenceFlags
// TracePacketDefaults, ClockSnapshot and its Clock
constexpr Tag kDefaultClock = 58, kClocks = 1, kClockId = 1, kClockTime = 2;
constexpr std::uint32_t kRealClock = 1, kBootClock = 6;  // BuiltinClock
// InternedData; each of its entries has an id and a text
constexpr Tag kEventCategories = 1, kEventNames = 2, kArgumentNames = 3, kArgumentTexts = 29;
constexpr Tag kInternedId = 1, kInternedText = 2;
// TrackDescriptor
constexpr Tag kUuid = 1, kTrackName = 2, kProcess = 3, kThread = 4, kParentUuid = 5, kCounter = 8,
              kChildOrdering = 11, kOrderRank = 12;
constexpr std::int32_t kExplicitOrder = 3;  // ChildTracksOrdering
// ProcessDescriptor and ThreadDescriptor; the sort index has the same field number in the two
constexpr Tag kProcessPid = 1, kProcessName = 6, kSortIndex = 3;
constexpr Tag kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
// CounterDescriptor
constexpr Tag kCounterUnit = 3;
constexpr std::int32_t kUnitBytes = 3;
// TrackEvent
constexpr Tag kCategoryIds = 3, kArgument = 4, kEventType = 9, kNameId = 10, kTrackUuid = 11,
              kCounterValue = 30, kFlowIds = 47, kLastFlowIds = 48;
constexpr std::int32_t kSliceBegin = 1, kSliceEnd = 2, kCounterEvent = 4;  // Type
// DebugAnnotation
constexpr Tag kArgumentNameId = 1, kArgumentInt = 4, kArgumentTextId = 17;

}  // namespace weft::report::field
