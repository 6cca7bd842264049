// SPDX-License-Identifier: Apache-2.0
// Merges the orders of all devices by the simulated end of their ops. An op is written to the line
// of its rank when all earlier ops of the rank are written and the input of the op has been sent.
// Then its message is written to the lines of the sender and of the receiver. So any two ranks have
// their messages in the same order.
#include "weft/pipeline/exports/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

namespace weft::pipeline::exports {
namespace {

constexpr std::size_t kMostGathered =
    3;  ///< stages of a rank that are in memory at a time, as in torch

/// The line of one rank.
class Row {
 public:
  Row(const std::vector<Op>& order, Micro micros, bool reduce_grad)
      : micros_(micros), reduce_grad_(reduce_grad) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      Local& local = of(order[i].stage);
      local.uses.push_back(i);
    }
  }

  /// Prepares for the ops from `position` on: frees the parameters of stages that do not run soon,
  /// and gathers the parameters of the stages that run next.
  void make_ready(std::size_t position) {
    std::vector<Local*> next;
    for (Local& local : locals_) {
      while (local.used < local.uses.size() && local.uses[local.used] < position) ++local.used;
      if (local.used < local.uses.size()) next.push_back(&local);
    }
    // Gather the stages that run soonest.
    std::sort(next.begin(), next.end(),
              [](const Local* a, const Local* b) { return a->uses[a->used] < b->uses[b->used]; });
    next.resize(std::min(next.size(), kMostGathered));
    // Free before gathering, so that at most kMostGathered stages are in memory at any time.
    for (Local& local : locals_) {
      const bool wanted = std::find(next.begin(), next.end(), &local) != next.end();
      if (local.gathered && !wanted) add("{}RESHARD", local.stage);
      local.gathered &= wanted;
    }
    for (Local* local : next) {
      if (!local->gathered) add("{}UNSHARD", local->stage);
      local->gathered = true;
    }
  }

  template <class... Parts>
  void add(fmt::format_string<Parts...> pattern, Parts&&... parts) {
    if (!text_.empty()) text_ += ',';
    text_ += fmt::format(pattern, std::forward<Parts>(parts)...);
  }

  /// Adds REDUCE_GRAD after the last gradient of the parameters of a stage.
  void reduce(const Op& op) {
    if (op.kind != Kind::kWeight && op.kind != Kind::kBackward) return;
    if (++of(op.stage).gradients == micros_ && reduce_grad_) add("{}REDUCE_GRAD", op.stage);
  }

  const std::string& text() const { return text_; }

 private:
  struct Local {
    StageId stage = 0;
    std::vector<std::size_t> uses = {};  ///< positions of the stage's ops in the order
    std::size_t used = 0;                ///< how many of the stage's ops have run
    Micro gradients = 0;
    bool gathered = false;
  };

  Local& of(StageId stage) {
    const auto found = std::find_if(locals_.begin(), locals_.end(),
                                    [&](const Local& local) { return local.stage == stage; });
    if (found != locals_.end()) return *found;
    return locals_.emplace_back(Local{.stage = stage});
  }

  Micro micros_;
  bool reduce_grad_;
  std::vector<Local> locals_;
  std::string text_;
};

/// Goes through all ops in the order of their ends, but takes an op only after its input has been
/// sent.
class Lowering {
 public:
  Lowering(const Pipeline& pipeline, const Schedule& schedule, const Timeline& timeline,
           bool reduce_grad)
      : pipeline_(pipeline), schedule_(schedule), timeline_(timeline) {
    const std::size_t all =
        pipeline.stages.size() * static_cast<std::size_t>(pipeline.micro_batches);
    forward_done_.resize(all);
    gradient_done_.resize(all);
    position_.resize(schedule.orders.size());
    waits_.resize(schedule.orders.size());
    for (const auto& order : schedule.orders) {
      rows_.emplace_back(order, pipeline.micro_batches, reduce_grad).make_ready(0);
    }
  }

  std::vector<std::string> run() {
    for (std::size_t device = 0; device < rows_.size(); ++device) offer(device);
    while (!ready_.empty()) {
      const auto [end, device] = ready_.top();
      ready_.pop();
      take(device);
      offer(device);
    }
    std::vector<std::string> lines;
    for (const Row& row : rows_) lines.push_back(row.text());
    return lines;
  }

 private:
  /// Puts a device into the queue by the end of its next op, or marks it as waiting for a message.
  void offer(std::size_t device) {
    const std::size_t position = position_[device];
    if (position == schedule_.orders[device].size()) return;
    waits_[device] = !is_ready(schedule_.orders[device][position]);
    if (!waits_[device]) ready_.emplace(timeline_.ops[device][position].end, device);
  }

  bool is_ready(const Op& op) const {
    if (op.kind == Kind::kForward) return op.stage == 0 || forward_done_[at(op.stage - 1, op)];
    const bool last = op.stage + 1 == static_cast<StageId>(pipeline_.stages.size());
    return op.kind == Kind::kWeight || last || gradient_done_[at(op.stage + 1, op)];
  }

  void take(std::size_t device) {
    const std::size_t position = position_[device]++;
    const Op& op = schedule_.orders[device][position];
    Row& row = rows_[device];
    row.add("{}", print(op));
    if (op.kind == Kind::kForward) {
      forward_done_[at(op.stage, op)] = true;
      send(device, op, op.stage + 1, 'F');
    } else if (op.kind != Kind::kWeight) {
      gradient_done_[at(op.stage, op)] = true;
      send(device, op, op.stage - 1, 'B');
    }
    row.reduce(op);
    row.make_ready(position + 1);
  }

  void send(std::size_t device, const Op& op, StageId to, char direction) {
    if (to < 0 || to == static_cast<StageId>(pipeline_.stages.size())) return;
    const auto other = static_cast<std::size_t>(pipeline_.stages[to].device);
    if (other == device) return;  // torch passes the data on without a message
    rows_[device].add("{}SEND_{}{}", op.stage, direction, op.micro);
    rows_[other].add("{}RECV_{}{}", to, direction, op.micro);
    // The receiver may have waited for exactly this message.
    if (waits_[other]) offer(other);
  }

  std::size_t at(StageId stage, const Op& op) const {
    return static_cast<std::size_t>(stage) * pipeline_.micro_batches + op.micro;
  }

  using Next = std::pair<Nanos, std::size_t>;
  const Pipeline& pipeline_;
  const Schedule& schedule_;
  const Timeline& timeline_;
  std::vector<Row> rows_;
  std::vector<std::size_t> position_;
  std::vector<bool> waits_;  ///< per device: its next op waits for a message
  std::vector<bool> forward_done_, gradient_done_;
  /// Devices whose next op can run, sorted by the end of that op and then by device number. So the
  /// result is deterministic.
  std::priority_queue<Next, std::vector<Next>, std::greater<>> ready_;
};

}  // namespace

std::string compute_comms(const Pipeline& pipeline, const Schedule& schedule,
                          const Timeline& timeline, const EqualRanks& ranks, bool reduce_grad) {
  const auto lines = Lowering(pipeline, schedule, timeline, reduce_grad).run();
  std::string text;
  for (const DeviceId device : ranks.of_rank) text += lines[device] + "\n";
  return text;
}

}  // namespace weft::pipeline::exports
