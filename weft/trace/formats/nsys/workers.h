// SPDX-License-Identifier: Apache-2.0
// Finds the ranks in an Nsight Systems export. A worker is a process and one GPU that it computes
// on; it becomes one rank. A process that computes on several GPUs is several workers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/trace/formats/nsys/database.h"

namespace weft::trace::nsys {

/// nsys packs host, virtual machine, process and thread into one number (a global id): 24 bits of
/// thread id at the bottom, then 24 bits of process id. process_of() removes the thread.
constexpr std::int64_t process_of(std::int64_t global) { return global & ~std::int64_t{0xffffff}; }
constexpr std::int64_t pid_of(std::int64_t global) { return (global >> 24) & 0xffffff; }
constexpr std::int64_t tid_of(std::int64_t global) { return global & 0xffffff; }

struct Worker {
  std::int64_t process = 0;  ///< global id without thread
  std::int64_t device = 0;
};

class Workers {
 public:
  static constexpr std::uint32_t kNoWorker = 0xffffffffu;

  /// Fails if the export has no kernels.
  static Result<Workers> find(const Database& database);

  /// All workers, sorted by device, then by process: launchers number the ranks of a host in this
  /// order.
  const std::vector<Worker>& all() const { return list_; }
  /// The worker (index into all()) of a process's work on a device. Work on a GPU that is not a
  /// worker belongs to the busiest worker of the process. kNoWorker if the process ran no kernels.
  std::uint32_t on_device(std::int64_t process, std::int64_t device) const;
  /// The workers of a process, which share its host threads; the busiest first.
  const std::vector<std::uint32_t>& in_process(std::int64_t process) const;
  /// The device of a CUDA context; `missing` if no kernel ran in the context.
  std::int64_t device_of(std::int64_t process, std::int64_t context, std::int64_t missing) const;
  /// False for old exports in which device work does not name its process. All work is then
  /// assigned to process 0.
  bool names_processes() const { return names_processes_; }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;

  std::vector<Worker> list_;
  std::map<Key, std::uint32_t> of_device_;
  std::map<std::int64_t, std::vector<std::uint32_t>> of_process_;
  std::map<Key, std::int64_t> device_of_context_;
  std::vector<std::uint32_t> no_workers_;  ///< always empty; for unknown processes
  bool names_processes_ = false;
};

}  // namespace weft::trace::nsys
