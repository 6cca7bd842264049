// SPDX-License-Identifier: Apache-2.0
// Runs all devices of a process in one memory, so a turn is a list of copies instead of messages.
// Often several devices have interleaved parts of one large array, which copies fill or read. So
// copies are grouped by this array. All copies of a group run on one thread, at about the same
// place of the array, so that each cache line is fetched only once.
#include "weft/reshard/execute/host/run_all.h"

#include <algorithm>
#include <map>
#include <string>

#include "weft/base/parallel.h"
#include "weft/reshard/execute/host/ends.h"
#include "weft/reshard/execute/host/task.h"
#include "weft/reshard/execute/program/pairing.h"

namespace weft::reshard::execute {
namespace {

/// Copies are divided into pieces of this many bytes, for several threads. A piece is small
/// compared with a cache. Its copy takes long compared with the cost of a task.
constexpr Bytes kGrain = 1 << 19;

/// A transport that is used only for its memory.
class HostAllocator final : public Transport {
 public:
  Status round(const Program&, const Turn&, const Buffers&) override { return {}; }
};

Status check(const std::vector<Program>& programs, const std::vector<Buffers>& buffers) {
  if (programs.size() != buffers.size()) {
    return fail(ErrorCode::kUsage, "each program needs one set of buffers");
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    WEFT_TRY(check_buffers(programs[i], buffers[i]));
    if (programs[i].self != static_cast<Device>(i) ||
        programs[i].fingerprint != programs[0].fingerprint ||
        programs[i].turns.size() != programs[0].turns.size()) {
      return fail(ErrorCode::kUsage,
                  "program " + std::to_string(i) + " was not made for device " + std::to_string(i) +
                      " with the same arrays, plans and budget as the programs before it");
    }
  }
  return {};
}

/// The array in which the copies of a group interleave. This is the target, except if the copy
/// writes contiguously; then it is the source.
const std::byte* array_of(const Task& task, const std::byte* source, const std::byte* target) {
  const std::vector<CopyLoop>& loops = task.copy.loops();
  return loops.empty() || loops.back().to == task.copy.run_bytes() ? source : target;
}

void run_together(const std::vector<Task>& tasks) {
  std::vector<CopyJob> jobs;
  for (const Task& task : tasks) {
    if (task.work.rows == nullptr) {
      jobs.push_back({&task.copy, task.from, task.to});
    } else {
      task.run();
    }
  }
  // Sort by address in the target, so that run_together() finds adjacent rows.
  std::sort(jobs.begin(), jobs.end(),
            [](const CopyJob& x, const CopyJob& y) { return x.to < y.to; });
  reshard::run_together(jobs);
}

/// Tasks, grouped by array and by piece of the array. One thread runs all tasks of one entry.
struct Groups {
  std::map<std::pair<const std::byte*, std::size_t>, std::vector<Task>> pieces;

  void add(const Task& task, const std::byte* array) {
    std::size_t number = 0;
    for (Task& piece : split(task, kGrain)) pieces[{array, number++}].push_back(std::move(piece));
  }
  void run() {
    std::vector<std::vector<Task>*> all;
    for (auto& [key, group] : pieces) all.push_back(&group);
    parallel_for(all.size(), [&](std::size_t i) { run_together(*all[i]); });
  }
};

/// Runs a turn of programs in place. Sender and receiver divide a message into different regions,
/// so the message is delivered as a stream. Within a turn, no device writes data that another
/// device reads. So devices can run in parallel.
Status run_turn_in_place(const std::vector<Program>& programs, const std::vector<Buffers>& buffers,
                         std::size_t number) {
  std::vector<Status> done(programs.size());
  const auto run = [&](std::size_t self) -> Status {
    const Program& program = programs[self];
    const Turn& turn = program.turns[number];
    for (const Move& move : turn.moves) {
      deliver(program, {move.from}, buffers[self], {move.to}, buffers[self], move.add);
    }
    Pairing pairing;
    for (const Message& message : turn.receives) {
      WEFT_ASSIGN(const Message* sent,
                  pairing.match(program.self, message, programs[message.peer].turns[number]));
      deliver(program, sent->regions, buffers[message.peer], message.regions, buffers[self],
              message.add);
    }
    return {};
  };
  parallel_for(programs.size(), [&](std::size_t self) { done[self] = run(self); });
  for (const Status& status : done) WEFT_TRY(status);
  return {};
}

Status run_turn(const std::vector<Program>& programs, const std::vector<Buffers>& buffers,
                std::size_t number) {
  Groups replacing;
  // Additions run after everything that replaces. The messages that a device adds run one after the
  // other, because sums of rounded numbers depend on their order.
  std::vector<Groups> adding;
  const auto add = [&](Groups& groups, const Task& task, const Region& from, const Buffers& source,
                       const Region& to, const Buffers& target) {
    groups.add(task, array_of(task, source[from.buffer], target[to.buffer]));
  };
  for (std::size_t self = 0; self < programs.size(); ++self) {
    const Program& program = programs[self];
    const Turn& turn = program.turns[number];
    std::size_t adds = 0;
    for (const Move& move : turn.moves) {
      add(replacing, make_task(program, move.from, buffers[self], move.to, buffers[self], false),
          move.from, buffers[self], move.to, buffers[self]);
    }
    Pairing pairing;
    for (const Message& message : turn.receives) {
      WEFT_ASSIGN(const Message* sent,
                  pairing.match(program.self, message, programs[message.peer].turns[number]));
      if (message.add && adding.size() <= adds) adding.emplace_back();
      Groups& groups = message.add ? adding[adds++] : replacing;
      for (std::size_t i = 0; i < message.regions.size(); ++i) {
        const Region &from = sent->regions[i], &to = message.regions[i];
        add(groups, make_task(program, from, buffers[message.peer], to, buffers[self], message.add),
            from, buffers[message.peer], to, buffers[self]);
      }
    }
  }
  replacing.run();
  for (Groups& groups : adding) groups.run();
  return {};
}

}  // namespace

Result<Usage> run_all(const std::vector<Program>& programs, const std::vector<Buffers>& buffers) {
  WEFT_TRY(check(programs, buffers));
  HostAllocator host;
  std::vector<Staging> staging;
  std::vector<Ends> ends;
  std::vector<Buffers> all;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    WEFT_ASSIGN(Ends both, Ends::begin(programs[i], buffers[i], host));
    all.push_back(both.wire_buffers());
    ends.push_back(std::move(both));
    WEFT_ASSIGN(Staging memory, Staging::of(host, programs[i].buffers.back()));
    all[i].push_back(memory.data());
    staging.push_back(std::move(memory));
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    WEFT_TRY(host.fill_neutral(programs[i], all[i]));
  }
  const std::size_t turns = programs.empty() ? 0 : programs[0].turns.size();
  for (std::size_t turn = 0; turn < turns; ++turn) {
    if (programs[0].in_place.empty()) {
      WEFT_TRY(run_turn(programs, all, turn));
      for (std::size_t i = 0; i < programs.size(); ++i) {
        WEFT_TRY(ends[i].cast_staged(programs[i].turns[turn], all[i]));
      }
      continue;
    }
    WEFT_TRY(run_turn_in_place(programs, all, turn));
    for (std::size_t i = 0; i < programs.size(); ++i) {
      WEFT_TRY(host.shuffle(programs[i].turns[turn], all[i]));
    }
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    WEFT_TRY(host.finish(programs[i], all[i]));
    WEFT_TRY(ends[i].end());
  }
  return Usage{host.take_peak()};
}

}  // namespace weft::reshard::execute
