// SPDX-License-Identifier: Apache-2.0
// Reads one event of "traceEvents" as the file spells it. The keys of an event come in any order,
// so the reader gathers all of them before it interprets them.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/json/scanner.h"
#include "weft/trace/formats/chrome_events.h"

namespace weft::trace::kineto {

/// The meaning of an event's "cat", for all spellings since 2021.
enum class Category : std::uint8_t {
  kUnknown,
  kNone,  ///< the event has no "cat"
  kOperator,
  kAnnotation,
  kRuntime,
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kGpuAnnotation,
  kOverhead,
  kInstant,
  kPython,
  kForwardBackward,
  kLaunchFlow,  ///< arrows from launch to kernel; unused, because "correlation" has the same facts
  kIgnored,     ///< marks of the profiler about itself
};

Category category_of(std::string_view cat);

/// The value of an integer that the event does not have.
constexpr std::int64_t kAbsent = INT64_MIN;

/// The texts point into the scanner's windows and are valid until the scanner's release().
struct RawEvent : ChromeEvent {
  Category category = Category::kNone;

  // From "args"; kAbsent or empty if the event does not have the argument. These are arguments of
  // device work:
  std::int64_t external = kAbsent;
  std::int64_t correlation = kAbsent;
  std::int64_t device = kAbsent;
  std::int64_t stream = kAbsent;
  std::int64_t bytes = kAbsent;
  std::int64_t graph_node = kAbsent;
  std::string_view grid, block;

  // Operators.
  std::int64_t sequence = kAbsent;
  std::int64_t fwd_thread = kAbsent;
  std::string_view input_dims, input_types;

  // Collectives and messages.
  std::string_view collective, dtype, group, group_description, group_ranks;
  std::int64_t in_elements = kAbsent;
  std::int64_t out_elements = kAbsent;
  std::int64_t group_size = kAbsent;
  std::int64_t rank = kAbsent;
  std::int64_t src = kAbsent;
  std::int64_t dst = kAbsent;
  std::int64_t group_sequence = kAbsent;

  // Waits.
  std::string_view sync_kind;
  std::int64_t wait_on_stream = kAbsent;
  std::int64_t wait_on_record = kAbsent;

  // Allocator events.
  std::int64_t address = kAbsent;
  std::int64_t alloc_bytes = kAbsent;
  std::int64_t total_allocated = kAbsent;
  std::int64_t total_reserved = kAbsent;
  std::int64_t device_type = kAbsent;
  std::int64_t device_id = kAbsent;

  std::string_view arg_name;  ///< the name that a metadata event gives
  bool has_stack = false;
};

/// Reads the members of one event; the caller has already entered its object. Returns false if the
/// text ends or stops being JSON inside the event.
bool read_event(JsonScanner& scanner, RawEvent& event);

}  // namespace weft::trace::kineto
