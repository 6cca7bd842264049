// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/task.h"

#include <algorithm>

#include "weft/base/check.h"
#include "weft/reshard/execute/region.h"

namespace weft::reshard::execute {

void Task::run() const {
  if (add == nullptr) {
    copy.run(from, to);
  } else {
    combine(copy, from, to, add);
  }
}

Task make_task(const Program& program, const Region& from, const Buffers& source, const Region& to,
               const Buffers& target, bool add) {
  Task task{copy_between(from, to), source[from.buffer] + from.offset,
            target[to.buffer] + to.offset, nullptr};
  if (add) {
    const auto rows = combine_rows(program.elements[to.array]);
    WEFT_CHECK(rows.has_value());
    task.add = *rows;
  }
  return task;
}

std::vector<Task> split(const Task& task, Bytes grain) {
  const Bytes pieces = task.copy.bytes() / grain;
  if (pieces < 2) return {task};
  std::vector<Task> tasks;
  const std::vector<CopyLoop>& loops = task.copy.loops();
  const Bytes run = task.copy.run_bytes();
  if (loops.empty()) {
    // Whole lines of memory, which are whole elements of any type.
    constexpr Bytes kLine = 64;
    const Bytes step = (run / pieces + kLine - 1) / kLine * kLine;
    for (Bytes at = 0; at < run; at += step) {
      tasks.push_back(
          {StridedCopy({}, std::min(step, run - at)), task.from + at, task.to + at, task.add});
    }
    return tasks;
  }
  const CopyLoop& outer = loops.front();
  const std::int64_t step = std::max<std::int64_t>(1, outer.extent / pieces);
  for (std::int64_t at = 0; at < outer.extent; at += step) {
    std::vector<CopyLoop> rest = loops;
    rest[0].extent = std::min(step, outer.extent - at);
    const Task piece{StridedCopy(std::move(rest), run), task.from + at * outer.from,
                     task.to + at * outer.to, task.add};
    for (Task& part : split(piece, grain)) tasks.push_back(std::move(part));
  }
  return tasks;
}

}  // namespace weft::reshard::execute
