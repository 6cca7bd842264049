// SPDX-License-Identifier: Apache-2.0
// Computes the same bound as weft/pipeline/schedule/bounds.cc. The code is separate on purpose: the
// checker must not share the planner's mistakes. A test compares the two.
#include "weft/pipeline/verify/schedule_bound.h"

#include <algorithm>
#include <map>
#include <queue>

namespace weft::pipeline::verify {
namespace {

/// All ops of one kind on one stage, or all transfers of one direction of a channel, in order.
struct Row {
  Nanos length = 0;
  /// Per micro-batch: the least time before the start of its op, and after the end of its op.
  std::vector<Nanos> before, behind;
};

Row row(Nanos length, std::int32_t micro_batches) {
  const auto count = static_cast<std::size_t>(micro_batches);
  return {length, std::vector<Nanos>(count, 0), std::vector<Nanos>(count, 0)};
}

/// Op k of `second` starts at least `delay` after op k of `first` has ended. follow() updates the
/// times before the ops of `second`. precede() updates the times behind the ops of `first`.
void follow(const Row& first, Row& second, Nanos delay) {
  for (std::size_t k = 0; k < first.before.size(); ++k) {
    second.before[k] = std::max(second.before[k], first.before[k] + first.length + delay);
  }
}
void precede(Row& first, const Row& second, Nanos delay) {
  for (std::size_t k = 0; k < first.behind.size(); ++k) {
    first.behind[k] = std::max(first.behind[k], delay + second.length + second.behind[k]);
  }
}
/// The ops of a row run one after the other.
void one_by_one_before(Row& row) {
  for (std::size_t k = 1; k < row.before.size(); ++k) {
    row.before[k] = std::max(row.before[k], row.before[k - 1] + row.length);
  }
}
void one_by_one_behind(Row& row) {
  for (std::size_t k = row.behind.size() - 1; k > 0; --k) {
    row.behind[k - 1] = std::max(row.behind[k - 1], row.length + row.behind[k]);
  }
}

/// Jackson's preemptive schedule of the ops of some rows on one machine: the op with the longest
/// time behind it runs, and is interrupted when an op with a longer time becomes available.
Nanos jackson(const std::vector<const Row*>& rows) {
  struct Piece {
    Nanos before, behind, left;
    bool operator<(const Piece& other) const { return behind < other.behind; }
  };
  std::vector<Piece> pieces;
  for (const Row* each : rows) {
    for (std::size_t k = 0; k < each->before.size(); ++k) {
      pieces.push_back({each->before[k], each->behind[k], each->length});
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.before < b.before; });
  std::priority_queue<Piece> ready;
  Nanos now = 0, end = 0;
  std::size_t next = 0;
  while (next < pieces.size() || !ready.empty()) {
    if (ready.empty()) now = std::max(now, pieces[next].before);
    while (next < pieces.size() && pieces[next].before <= now) ready.push(pieces[next++]);
    Piece piece = ready.top();
    ready.pop();
    Nanos run = piece.left;
    if (next < pieces.size()) run = std::min(run, pieces[next].before - now);
    now += run;
    piece.left -= run;
    if (piece.left > 0)
      ready.push(piece);
    else
      end = std::max(end, now + piece.behind);
  }
  return end;
}

}  // namespace

Nanos schedule_bound(const std::vector<BoundStage>& stages,
                     const std::vector<BoundChannel>& channels, std::int32_t micro_batches,
                     bool halves) {
  const std::size_t count = stages.size();
  std::vector<Row> forward, input, weight, there, back;
  for (const BoundStage& stage : stages) {
    forward.push_back(row(stage.forward, micro_batches));
    input.push_back(row(stage.input + (halves ? 0 : stage.weight), micro_batches));
    weight.push_back(row(halves ? stage.weight : 0, micro_batches));
    std::fill(input.back().behind.begin(), input.back().behind.end(), stage.reduce);
    std::fill(weight.back().behind.begin(), weight.back().behind.end(), stage.reduce);
  }
  for (const BoundChannel& channel : channels) {
    there.push_back(row(channel.there, micro_batches));
    back.push_back(row(channel.back, micro_batches));
  }
  // Times before the ops, in the order of dependencies: forwards from the first stage on, then
  // gradients from the last stage back.
  for (std::size_t s = 0; s < count; ++s) {
    one_by_one_before(forward[s]);
    if (s + 1 == count) break;
    follow(forward[s], there[s], 0);
    one_by_one_before(there[s]);
    follow(there[s], forward[s + 1], channels[s].latency_there);
  }
  for (std::size_t s = count; s-- > 0;) {
    follow(forward[s], input[s], 0);
    if (s + 1 < count) follow(back[s], input[s], channels[s].latency_back);
    one_by_one_before(input[s]);
    follow(input[s], weight[s], 0);
    one_by_one_before(weight[s]);
    if (s == 0) break;
    follow(input[s], back[s - 1], 0);
    one_by_one_before(back[s - 1]);
  }
  // Times behind the ops, in the opposite order.
  for (std::size_t s = 0; s < count; ++s) {
    one_by_one_behind(weight[s]);
    precede(input[s], weight[s], 0);
    if (s > 0) precede(input[s], back[s - 1], 0);
    one_by_one_behind(input[s]);
    if (s + 1 == count) break;
    precede(back[s], input[s], channels[s].latency_back);
    one_by_one_behind(back[s]);
  }
  for (std::size_t s = count; s-- > 0;) {
    precede(forward[s], input[s], 0);
    if (s + 1 < count) precede(forward[s], there[s], 0);
    one_by_one_behind(forward[s]);
    if (s == 0) break;
    precede(there[s - 1], forward[s], channels[s - 1].latency_there);
    one_by_one_behind(there[s - 1]);
  }
  // Every device, channel and shared link is a machine, and each machine gives a bound.
  Nanos bound = 0;
  std::map<std::size_t, std::vector<const Row*>> shared;
  for (std::size_t s = 0; s < count; ++s) {
    std::vector<const Row*> device{&forward[s], &input[s]};
    if (halves) device.push_back(&weight[s]);
    bound = std::max(bound, jackson(device));
    if (s + 1 == count) break;
    bound = std::max({bound, jackson({&there[s]}), jackson({&back[s]})});
    for (const std::size_t link : channels[s].shared_there) shared[link].push_back(&there[s]);
    for (const std::size_t link : channels[s].shared_back) shared[link].push_back(&back[s]);
  }
  for (const auto& [link, rows] : shared) bound = std::max(bound, jackson(rows));
  return bound;
}

}  // namespace weft::pipeline::verify
