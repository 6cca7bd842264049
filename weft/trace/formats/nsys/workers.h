// SPDX-License-Identifier: Apache-2.0
// Which ranks an Nsight Systems export holds. A rank is a process and the GPU it works on; a
// process that drives several GPUs is several ranks.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/trace/formats/nsys/database.h"

namespace weft::trace::nsys {

/// Ids of processes and threads: host, virtual machine, process and thread in one number.
constexpr std::int64_t process_of(std::int64_t global) { return global & ~std::int64_t{0xffffff}; }
constexpr std::int64_t pid_of(std::int64_t global) { return (global >> 24) & 0xffffff; }
constexpr std::int64_t tid_of(std::int64_t global) { return global & 0xffffff; }

struct Worker {
  std::int64_t process = 0;
  std::int64_t device = 0;
};

class Workers {
 public:
  static constexpr std::uint32_t kNobody = 0xffffffffu;

  /// An Error if the export holds no device work.
  static Result<Workers> find(const Database& database);

  /// By device, then by process, which is the order launchers number their ranks in.
  const std::vector<Worker>& all() const { return list_; }
  /// Whose work on a device this is; kNobody for processes without kernels.
  std::uint32_t on_device(std::int64_t process, std::int64_t device) const;
  /// Those that share the host threads of a process, busiest first.
  const std::vector<std::uint32_t>& in_process(std::int64_t process) const;
  /// The device of a context; `missing` if nothing ran there. Synchronisation rows are wrong about
  /// their device in some versions.
  std::int64_t device_of(std::int64_t process, std::int64_t context, std::int64_t missing) const;
  /// False for exports so old that device work does not name its process; then all is process 0.
  bool names_processes() const { return names_processes_; }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;

  std::vector<Worker> list_;
  std::map<Key, std::uint32_t> of_device_;
  std::map<std::int64_t, std::vector<std::uint32_t>> of_process_;
  std::map<Key, std::int64_t> device_of_context_;
  std::vector<std::uint32_t> nobody_;
  bool names_processes_ = false;
};

}  // namespace weft::trace::nsys
