// SPDX-License-Identifier: Apache-2.0
// A region of memory copied or added to another: what host transports do, alone or on several
// threads.
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

/// What happens between two regions. `add`: reduces, by a reduction that combine_rows() knows.
RowWork work_between(const Program& program, const Region& from, const Region& to, bool add);

/// From a region of one device's buffers to one of another's, or the same. `add`: see above.
Task make_task(const Program& program, const Region& from, const Buffers& source, const Region& to,
               const Buffers& target, bool add);

/// What one device sends, copied or added to where the other wants it: lists with the same bytes in
/// all, of one array. Where their loops do not fit each other, by way of a small buffer.
void deliver(const Program& program, const std::vector<Region>& from, const Buffers& source,
             const std::vector<Region>& to, const Buffers& target, bool add);

/// The task as several of about `grain` bytes or more, which may run at the same time.
std::vector<Task> split(const Task& task, Bytes grain);

}  // namespace weft::reshard::execute
