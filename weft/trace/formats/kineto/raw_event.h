// SPDX-License-Identifier: Apache-2.0
// One entry of "traceEvents" as it stands in the file. Keys may come in any order, so everything is
// gathered first and judged afterwards.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/json/scanner.h"
#include "weft/trace/formats/chrome_events.h"

namespace weft::trace::kineto {

/// What the "cat" of an entry means, over all the years' spellings.
enum class Category : std::uint8_t {
  kUnknown,
  kNone,  ///< the entry has no "cat"
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
  kLaunchFlow,  ///< arrows from launch to kernel: "correlation" says the same
  kIgnored,     ///< the profiler's own marks
};

Category category_of(std::string_view cat);

constexpr std::int64_t kAbsent = INT64_MIN;

/// Texts point into the scanner's windows and live until its release().
struct RawEvent : ChromeEvent {
  Category category = Category::kNone;

  // From "args"; kAbsent or empty where the entry does not have it.
  std::int64_t external = kAbsent;
  std::int64_t correlation = kAbsent;
  std::int64_t device = kAbsent;
  std::int64_t stream = kAbsent;
  std::int64_t bytes = kAbsent;
  std::int64_t graph_node = kAbsent;
  std::string_view grid, block;

  std::int64_t sequence = kAbsent;
  std::int64_t fwd_thread = kAbsent;
  std::string_view input_dims, input_types;

  std::string_view collective, dtype, group, group_description, group_ranks;
  std::int64_t in_elements = kAbsent;
  std::int64_t out_elements = kAbsent;
  std::int64_t group_size = kAbsent;
  std::int64_t rank = kAbsent;
  std::int64_t src = kAbsent;
  std::int64_t dst = kAbsent;
  std::int64_t group_sequence = kAbsent;

  std::string_view sync_kind;
  std::int64_t wait_on_stream = kAbsent;
  std::int64_t wait_on_record = kAbsent;

  std::int64_t address = kAbsent;
  std::int64_t alloc_bytes = kAbsent;
  std::int64_t total_allocated = kAbsent;
  std::int64_t total_reserved = kAbsent;
  std::int64_t device_type = kAbsent;
  std::int64_t device_id = kAbsent;

  std::string_view arg_name;  ///< of metadata entries
  bool has_stack = false;
};

/// Reads the members of an object that was entered. False if the text was cut or broken in it.
bool read_event(JsonScanner& scanner, RawEvent& event);

}  // namespace weft::trace::kineto
