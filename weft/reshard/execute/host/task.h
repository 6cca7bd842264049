// SPDX-License-Identifier: Apache-2.0
// A task copies one region to another, or adds it there, in the host's memory. Transports of the
// host divide their work into tasks.
#pragma once

#include <vector>

#include "weft/reshard/execute/host/combine.h"
#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

struct Task {
  StridedCopy copy;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  RowWork work;

  void run() const { execute::run(copy, from, to, work); }
};

/// What to do with elements between two regions. If `add`, elements are reduced, and combine_rows()
/// must support that.
RowWork work_between(const Program& program, const Region& from, const Region& to, bool add);

/// Makes a task from a region of one device's buffers to a region of the buffers of another device
/// or of the same device.
Task make_task(const Program& program, const Region& from, const Buffers& source, const Region& to,
               const Buffers& target, bool add);

/// Copies regions to contiguous bytes at `to`, one region after the other, in the wire type.
void pack_regions(const Program& program, const std::vector<Region>& regions,
                  const Buffers& buffers, std::byte* to);
/// Copies contiguous bytes at `from` back to regions. If `add`, adds the bytes to the data of the
/// regions.
void unpack_regions(const Program& program, const std::byte* from,
                    const std::vector<Region>& regions, const Buffers& buffers, bool add);

/// Copies the regions `from` of one device to the regions `to` of another, or adds them there. Both
/// lists are of one array and have the same bytes in total. If their loops do not match, the data
/// passes through a small buffer.
void deliver(const Program& program, const std::vector<Region>& from, const Buffers& source,
             const std::vector<Region>& to, const Buffers& target, bool add);

/// Divides the task into smaller tasks, which may run in parallel. Each has at least about `grain`
/// bytes.
std::vector<Task> split(const Task& task, Bytes grain);

}  // namespace weft::reshard::execute
