// SPDX-License-Identifier: Apache-2.0
// Each cost is a median over the messages that show it. If the receiver was ready before the
// sender, the message shows `arrival` and `send`. If the data arrived before the receiver was
// ready, the message shows `receive`. First the usual costs are computed from all messages
// together. Then each pair of ranks with enough messages gets separate costs. What its messages do
// not show is taken from the usual costs.
#include "weft/pipeline/recorded/messages.h"

#include <algorithm>
#include <cmath>

#include "weft/base/median.h"

namespace weft::pipeline::recorded {
namespace {

/// A table that differs by less than this share is assumed to be a table of the recorded network.
/// The recording is then the better source: its messages competed with each other and with compute,
/// as in the job.
constexpr double kSameNetwork = 0.25;
/// With fewer messages than this, a pair of ranks gets the costs of all pairs together.
constexpr std::size_t kEnough = 3;

/// Both ends of a recorded message.
struct Sample {
  Nanos send_start, send_end, receive_start, receive_end;
};

using Pair = std::pair<std::int32_t, std::int32_t>;
using Samples = std::map<Pair, std::vector<Sample>>;

Sample sample(const trace::Run& run, const trace::Member& from, const trace::Member& to) {
  const trace::Events& sender = run.ranks[from.rank].events;
  const trace::Events& receiver = run.ranks[to.rank].events;
  return {sender.start[from.event], sender.end(from.event), receiver.start[to.event],
          receiver.end(to.event)};
}

/// Costs that fit the samples. `usual` has the values for costs that the samples do not show.
MessageCost fit(const std::vector<Sample>& samples, const MessageCost& usual) {
  std::vector<Nanos> arrival, send;
  for (const Sample& s : samples) {
    // A receiver that came later than the sender does not show when the data arrived.
    if (s.receive_start > s.send_start) continue;
    arrival.push_back(s.receive_end - s.send_start);
    send.push_back(s.send_end - s.send_start);
  }
  MessageCost cost = usual;
  if (!arrival.empty()) cost.arrival = std::max<Nanos>(0, median(arrival));
  if (!send.empty()) cost.send = std::clamp<Nanos>(median(send), 0, cost.arrival);
  std::vector<Nanos> receive, wait, shortest;
  for (const Sample& s : samples) {
    shortest.push_back(s.receive_end - s.receive_start);
    if (s.receive_start >= s.send_start + cost.arrival) {
      receive.push_back(s.receive_end - s.receive_start);
    }
    // The receiver came so late that a sender that does not wait was done long before.
    if (s.receive_start >= s.send_start + 2 * cost.send) {
      wait.push_back(s.send_end - s.receive_start);
    }
  }
  if (arrival.empty() && usual.arrival == 0) {
    // No receiver was ever ready before its sender, so the starts of sends do not show `arrival`.
    // Use the time of the receives instead.
    cost.arrival = median(shortest);
    cost.send = cost.arrival;
  }
  if (!receive.empty()) {
    cost.receive = median(receive);
  } else if (usual.receive == 0) {
    cost.receive = *std::min_element(shortest.begin(), shortest.end());
  }
  cost.receive = std::clamp<Nanos>(cost.receive, 0, cost.arrival);
  if (!wait.empty()) cost.send_after_receive = std::max<Nanos>(-1, median(wait));
  return cost;
}

std::vector<Sample> all_of(const Samples& samples) {
  std::vector<Sample> all;
  for (const auto& [pair, list] : samples) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::map<Pair, MessageCost> fit_pairs(const Samples& samples, const MessageCost& usual) {
  std::map<Pair, MessageCost> costs;
  for (const auto& [pair, list] : samples) {
    if (list.size() >= kEnough) costs[pair] = fit(list, usual);
  }
  return costs;
}

/// The first table of messages between two ranks. Tables of more ranks do not fit: all of their
/// ranks sent at the same time.
const cost::LinkTable* table_of_pairs(const std::vector<cost::LinkTable>& links) {
  const auto found = std::find_if(links.begin(), links.end(), [](const cost::LinkTable& table) {
    return table.collective == graph::CollectiveKind::kSendRecv && table.ranks == 2;
  });
  return found == links.end() ? nullptr : &*found;
}

}  // namespace

Result<MessageModel> MessageModel::measure(const predict::Job& job,
                                           const std::vector<cost::LinkTable>& links) {
  Samples one_way, both_ways;
  std::vector<Bytes> sizes;
  for (const trace::Match& match : job.matches) {
    if (!match.is_message() || match.members.size() != 2) continue;
    const trace::Member &from = match.members[0], &to = match.members[1];
    const std::int32_t a = job.run.ranks[from.rank].rank, b = job.run.ranks[to.rank].rank;
    if (match.bytes > 0) sizes.push_back(match.bytes);
    // A match with bytes back is a batch with a message in each direction: two samples.
    if (match.bytes_back == 0) {
      one_way[{a, b}].push_back(sample(job.run, from, to));
    } else {
      both_ways[{a, b}].push_back(sample(job.run, from, to));
      both_ways[{b, a}].push_back(sample(job.run, to, from));
    }
  }
  if (one_way.empty() && both_ways.empty()) {
    return fail(ErrorCode::kUsage,
                "no message between two ranks was recorded on both of them; record all ranks of "
                "the pipeline over the same steps");
  }
  MessageModel model;
  if (!one_way.empty()) model.usual_one_way_ = fit(all_of(one_way), {});
  model.usual_both_ways_ =
      both_ways.empty() ? model.usual_one_way_ : fit(all_of(both_ways), model.usual_one_way_);
  if (one_way.empty()) model.usual_one_way_ = model.usual_both_ways_;
  model.one_way_ = fit_pairs(one_way, model.usual_one_way_);
  model.both_ways_ = fit_pairs(both_ways, model.usual_both_ways_);
  if (sizes.empty()) return model;
  model.bytes_ = median(sizes);
  const cost::LinkTable* table = table_of_pairs(links);
  if (table && model.usual_both_ways_.arrival > 0) {
    // weft calibrate lets both ranks send and receive at once, so compare with messages both ways.
    model.table_fits_ = true;
    const double factor = static_cast<double>(table->time(model.bytes_)) /
                          static_cast<double>(model.usual_both_ways_.arrival);
    if (std::abs(factor - 1) > kSameNetwork) model.scale(factor);
  }
  return model;
}

void MessageModel::scale(double factor) {
  const auto scaled = [&](Nanos& time) { time = std::llround(static_cast<double>(time) * factor); };
  const auto change = [&](MessageCost& cost) {
    scaled(cost.arrival);
    scaled(cost.receive);
    scaled(cost.send);
    if (cost.send_after_receive > 0) scaled(cost.send_after_receive);
  };
  for (auto& [pair, cost] : one_way_) change(cost);
  for (auto& [pair, cost] : both_ways_) change(cost);
  change(usual_one_way_);
  change(usual_both_ways_);
  from_table_ = true;
}

const MessageCost& MessageModel::cost(std::int32_t from, std::int32_t to, bool both_ways) const {
  const auto& pairs = both_ways ? both_ways_ : one_way_;
  const auto found = pairs.find({from, to});
  if (found != pairs.end()) return found->second;
  return both_ways ? usual_both_ways_ : usual_one_way_;
}

}  // namespace weft::pipeline::recorded
