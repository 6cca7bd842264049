// SPDX-License-Identifier: Apache-2.0
// Two tables define what is read: one from the spelling of a category to its meaning, and one from
// the name of an argument to the member of RawEvent that takes it. If a new PyTorch version has a
// new spelling, add one line here. Arguments that are not listed are skipped without being decoded.
#include "weft/trace/formats/kineto/raw_event.h"

#include "weft/trace/formats/key_table.h"

namespace weft::trace::kineto {
namespace {

constexpr KeyTable<Category>::Entry kCategories[] = {
    {"cpu_op", Category::kOperator},
    {"Operator", Category::kOperator},  // 2021
    {"user_annotation", Category::kAnnotation},
    {"cuda_runtime", Category::kRuntime},
    {"cuda_driver", Category::kRuntime},
    {"hip_runtime", Category::kRuntime},
    {"xpu_runtime", Category::kRuntime},
    {"privateuse1_runtime", Category::kRuntime},
    {"privateuse1_driver", Category::kRuntime},
    {"Runtime", Category::kRuntime},
    {"kernel", Category::kKernel},
    {"Kernel", Category::kKernel},
    {"gpu_memcpy", Category::kMemcpy},
    {"Memcpy", Category::kMemcpy},
    {"gpu_memset", Category::kMemset},
    {"Memset", Category::kMemset},
    {"cuda_sync", Category::kSync},
    {"gpu_user_annotation", Category::kGpuAnnotation},
    {"overhead", Category::kOverhead},
    {"cpu_instant_event", Category::kInstant},
    {"python_function", Category::kPython},
    {"fwdbwd", Category::kForwardBackward},
    {"fwd_bwd", Category::kForwardBackward},
    {"forward_backward", Category::kForwardBackward},
    {"ac2g", Category::kLaunchFlow},
    {"async_cpu_to_gpu", Category::kLaunchFlow},
    {"async_gpu", Category::kLaunchFlow},
    {"async", Category::kLaunchFlow},
    {"Trace", Category::kIgnored},
    {"cuda_profiler_range", Category::kIgnored},
};
constexpr KeyTable<Category> kCategoryTable(kCategories, Category::kUnknown);

// The member of RawEvent that takes an argument, and how to read it. At most one pointer is set.
struct ArgTarget {
  std::int64_t RawEvent::*number = nullptr;
  std::string_view RawEvent::*text = nullptr;  ///< takes the decoded string
  std::string_view RawEvent::*raw = nullptr;   ///< takes the JSON text of the value
  bool stack = false;                          ///< the argument is a call stack: only note it
};

// Shorthands for the entries of the table: an integer, a decoded string, or undecoded JSON text.
constexpr ArgTarget number(std::int64_t RawEvent::*member) {
  return {member, nullptr, nullptr, false};
}
constexpr ArgTarget text(std::string_view RawEvent::*member) {
  return {nullptr, member, nullptr, false};
}
constexpr ArgTarget raw(std::string_view RawEvent::*member) {
  return {nullptr, nullptr, member, false};
}

constexpr KeyTable<ArgTarget>::Entry kArgs[] = {
    {"External id", number(&RawEvent::external)},
    {"external id", number(&RawEvent::external)},  // 2021
    {"correlation", number(&RawEvent::correlation)},
    {"device", number(&RawEvent::device)},
    {"stream", number(&RawEvent::stream)},
    {"bytes", number(&RawEvent::bytes)},
    {"graph node id", number(&RawEvent::graph_node)},
    {"grid", raw(&RawEvent::grid)},
    {"block", raw(&RawEvent::block)},
    {"Sequence number", number(&RawEvent::sequence)},
    {"Fwd thread id", number(&RawEvent::fwd_thread)},
    {"Input Dims", raw(&RawEvent::input_dims)},
    {"Input type", raw(&RawEvent::input_types)},
    {"Collective name", text(&RawEvent::collective)},
    {"dtype", text(&RawEvent::dtype)},
    {"In msg nelems", number(&RawEvent::in_elements)},
    {"Out msg nelems", number(&RawEvent::out_elements)},
    {"Group size", number(&RawEvent::group_size)},
    {"Process Group Name", text(&RawEvent::group)},
    {"Process Group ID", text(&RawEvent::group)},  // early 2024
    {"Process Group Description", text(&RawEvent::group_description)},
    {"Process Group Ranks", raw(&RawEvent::group_ranks)},
    {"Rank", number(&RawEvent::rank)},
    {"Src Rank", number(&RawEvent::src)},
    {"Dst Rank", number(&RawEvent::dst)},
    {"Seq", number(&RawEvent::group_sequence)},
    {"cuda_sync_kind", text(&RawEvent::sync_kind)},
    {"wait_on_stream", number(&RawEvent::wait_on_stream)},
    {"wait_on_cuda_event_record_corr_id", number(&RawEvent::wait_on_record)},
    {"Addr", number(&RawEvent::address)},
    {"Bytes", number(&RawEvent::alloc_bytes)},
    {"Total Allocated", number(&RawEvent::total_allocated)},
    {"Total Reserved", number(&RawEvent::total_reserved)},
    {"Device Type", number(&RawEvent::device_type)},
    {"Device Id", number(&RawEvent::device_id)},
    {"name", text(&RawEvent::arg_name)},
    {"Call stack", {nullptr, nullptr, nullptr, true}},
};
constexpr KeyTable<ArgTarget> kArgTable(kArgs, ArgTarget{});

void read_arg(JsonScanner& scanner, std::string_view key, RawEvent& event) {
  const ArgTarget target = kArgTable.find(key);
  if (target.number != nullptr) {
    scanner.integer(event.*target.number);
  } else if (target.text != nullptr) {
    event.*target.text = scanner.number_or_string();
  } else if (target.raw != nullptr) {
    event.*target.raw = scanner.raw();
  } else {
    event.has_stack |= target.stack;
    scanner.skip();
  }
}

}  // namespace

Category category_of(std::string_view cat) { return kCategoryTable.find(cat); }

bool read_event(JsonScanner& scanner, RawEvent& event) {
  // "cat" may come before or after "args", so the category is looked up at both places.
  const auto find_category = [&] {
    if (event.category == Category::kNone && !event.cat.empty()) {
      event.category = category_of(event.cat);
    }
  };
  const bool whole = read_chrome_event(scanner, event, [&] {
    find_category();
    // Python frames are most of a file that has stacks, and their arguments are not used. "cat"
    // usually stands before "args", so their arguments can be skipped without being decoded.
    if (event.category == Category::kPython) return scanner.skip();
    read_chrome_args(scanner, [&](std::string_view key) { read_arg(scanner, key, event); });
  });
  find_category();
  return whole;
}

}  // namespace weft::trace::kineto
