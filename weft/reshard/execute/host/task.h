// SPDX-License-Identifier: Apache-2.0
// One region copied or added to another, in the host's memory: the unit of work of the transports
// of the host.
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

/// What to do with elements between two regions. `add`: reduce; combine_rows() must know how.
RowWork work_between(const Program& program, const Region& from, const Region& to, bool add);

/// From a region of one device's buffers to a region of another's, or of its own.
Task make_task(const Program& program, const Region& from, const Buffers& source, const Region& to,
               const Buffers& target, bool add);

/// Copies regions to contiguous bytes at `to`, one behind the other, in the wire type.
void pack_regions(const Program& program, const std::vector<Region>& regions,
                  const Buffers& buffers, std::byte* to);
/// Copies such bytes back to regions. `add`: see above.
void unpack_regions(const Program& program, const std::byte* from,
                    const std::vector<Region>& regions, const Buffers& buffers, bool add);

/// Copies what one device sends to where the other device wants it, or adds it there. Both lists
/// are of one array and have the same bytes in total. If their loops do not match, the data passes
/// through a small buffer.
void deliver(const Program& program, const std::vector<Region>& from, const Buffers& source,
             const std::vector<Region>& to, const Buffers& target, bool add);

/// Divides the task into several of at least about `grain` bytes, which may run in parallel.
std::vector<Task> split(const Task& task, Bytes grain);

}  // namespace weft::reshard::execute
