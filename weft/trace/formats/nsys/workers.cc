// SPDX-License-Identifier: Apache-2.0
// find() counts the kernels of each process on each GPU. The pairs with enough kernels are the
// workers. find() also stores the device of each CUDA context, because some tables name the wrong
// device.
#include "weft/trace/formats/nsys/workers.h"

#include <algorithm>
#include <tuple>

namespace weft::trace::nsys {
namespace {

/// A process may run a few kernels on GPUs that it does not compute on, for example because it
/// created a context on GPU 0. A GPU is a worker if it runs at least 1/kLeastShare of the kernels
/// of the process's busiest GPU.
constexpr std::int64_t kLeastShare = 16;

}  // namespace

Result<Workers> Workers::find(const Database& database) {
  Workers workers;
  std::map<Key, std::int64_t> kernels;  // (process, device) -> number of kernels
  for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}) {
    WEFT_ASSIGN(Rows rows, database.select(table, {"globalPid", "deviceId", "contextId"}));
    for (;;) {
      WEFT_ASSIGN(const bool more, rows.next());
      if (!more) break;
      const auto global = rows.integer(0);
      workers.names_processes_ |= global.has_value();
      const std::int64_t process = process_of(global.value_or(0));
      const std::int64_t device = rows.integer(1, 0);
      ++kernels[{process, device}];
      if (const auto context = rows.integer(2)) {
        workers.device_of_context_.try_emplace({process, *context}, device);
      }
    }
  }
  if (kernels.empty()) {
    return fail(ErrorCode::kBadInput,
                "this Nsight Systems export contains no CUDA kernels (CUPTI_ACTIVITY_KIND_KERNEL "
                "is missing or empty); record with nsys profile --trace=cuda,nvtx and export "
                "without --tables",
                database.name());
  }
  std::map<std::int64_t, std::int64_t> busiest;
  for (const auto& [key, count] : kernels) {
    busiest[key.first] = std::max(busiest[key.first], count);
  }
  for (const auto& [key, count] : kernels) {
    // Rounded up, so a GPU needs at least one kernel.
    if (count >= (busiest[key.first] + kLeastShare - 1) / kLeastShare) {
      workers.list_.push_back({key.first, key.second});
    }
  }
  std::sort(workers.list_.begin(), workers.list_.end(), [](const Worker& a, const Worker& b) {
    return std::tie(a.device, a.process) < std::tie(b.device, b.process);
  });
  for (std::uint32_t i = 0; i < workers.list_.size(); ++i) {
    const Worker& worker = workers.list_[i];
    workers.of_device_[{worker.process, worker.device}] = i;
    workers.of_process_[worker.process].push_back(i);
  }
  for (auto& [process, list] : workers.of_process_) {
    std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto count = [&](std::uint32_t w) {
        return kernels[{workers.list_[w].process, workers.list_[w].device}];
      };
      return count(a) > count(b);
    });
  }
  return workers;
}

std::uint32_t Workers::on_device(std::int64_t process, std::int64_t device) const {
  const auto own = of_device_.find({process, device});
  if (own != of_device_.end()) return own->second;
  const auto& list = in_process(process);
  return list.empty() ? kNoWorker : list.front();
}

const std::vector<std::uint32_t>& Workers::in_process(std::int64_t process) const {
  const auto found = of_process_.find(process);
  return found == of_process_.end() ? no_workers_ : found->second;
}

std::int64_t Workers::device_of(std::int64_t process, std::int64_t context,
                                std::int64_t missing) const {
  const auto found = device_of_context_.find({process, context});
  return found == device_of_context_.end() ? missing : found->second;
}

}  // namespace weft::trace::nsys
