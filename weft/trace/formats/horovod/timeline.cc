// SPDX-License-Identifier: Apache-2.0
// There is one state machine per tensor. It sees these events in this order: NEGOTIATE_X begins,
// ready marks of the ranks, NEGOTIATE_X ends, X begins, activities begin and end, X ends with dtype
// and shape. (X is an operation such as ALLREDUCE.) Workers write no negotiation, so X may also
// begin right away. Fused tensors are found by adjacency in the file (see begin_activity()), and
// leader() gives the representative of a response.
#include "weft/trace/formats/horovod/timeline.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "weft/base/decimal.h"
#include "weft/trace/dtype.h"

namespace weft::trace::horovod {
namespace {

constexpr std::string_view kNegotiate = "NEGOTIATE_";
/// Limit of timestamps, which count from the start of the job. Sums and differences of valid times
/// then fit into 64 bits.
constexpr Nanos kLatest = 1'000'000'000 * kSecond;
constexpr std::int64_t kLatestEpoch = 4'000'000'000'000'000;  // microseconds; the year 2096
constexpr std::int32_t kMostRanks = 1'000'000;

std::optional<std::int32_t> rank_of(std::string_view name) {
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  if (rank < 0 || rank >= kMostRanks) return std::nullopt;
  return rank;
}

/// Returns the number of elements of a shape such as "[64, 3, 7, 7]". Returns -1 if the text is not
/// a shape or the tensor would be implausibly large.
std::int64_t elements_of(std::string_view shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 45;
  const std::int64_t elements = shape.empty() ? -1 : shape_elements(shape);
  return elements > kMost ? -1 : elements;
}

}  // namespace

Timeline::Tensor& Timeline::tensor_of(std::int64_t process) {
  const auto next = static_cast<std::uint32_t>(tensors_.size());
  const auto [found, is_new] = by_process_.try_emplace(process, next);
  if (is_new) tensors_.push_back({"tensor " + std::to_string(process), kNoUse, 0, false});
  return tensors_[found->second];
}

TensorUse& Timeline::new_use(Tensor& tensor) {
  if (tensor.open > 0) ++dropped_;  // the previous use never ended
  tensor.use = static_cast<std::uint32_t>(uses_.size());
  tensor.open = 0;
  uses_.emplace_back();
  uses_.back().tensor = static_cast<std::uint32_t>(&tensor - tensors_.data());
  uses_.back().fused_with = tensor.use;
  return uses_.back();
}

void Timeline::add(const ChromeEvent& event, const Args& args) {
  if (args.epoch_micros > 0 && args.epoch_micros < kLatestEpoch) {
    epoch_ = args.epoch_micros * kMicrosecond;
  }
  const std::optional<std::int64_t> process = parse_int(event.pid);
  if (event.phase == 'M') {
    const bool names_tensor = event.name == "process_name" && process && !args.name.empty();
    if (names_tensor) tensor_of(*process).name = args.name;
    return;
  }
  const bool span = event.phase == 'B' || event.phase == 'E';
  const std::optional<std::int32_t> rank =
      event.phase == 'X' || event.phase == 'i' ? rank_of(event.name) : std::nullopt;
  if (!process || (!span && !rank)) return;  // CYCLE_START and other marks that belong to no tensor
  const std::optional<Nanos> time = parse_thousandths(event.ts);
  if (!time || *time < 0 || *time > kLatest) {
    ++without_time_;
    return;
  }
  Tensor& tensor = tensor_of(*process);
  if (rank) {
    if (tensor.negotiating) uses_[tensor.use].ready.emplace_back(*rank, *time);
  } else if (event.phase == 'B') {
    begin(tensor, event.name, *time);
  } else {
    last_use_ = kNoUse;
    end(tensor, *time, args);
  }
}

void Timeline::begin(Tensor& tensor, std::string_view name, Nanos time) {
  if (name.starts_with(kNegotiate)) {
    last_use_ = kNoUse;
    TensorUse& use = new_use(tensor);
    use.operation = names_.intern(name.substr(kNegotiate.size()));
    use.negotiated_from = time;
    tensor.negotiating = true;
    tensor.open = 1;
    return;
  }
  const NameId id = names_.intern(name);
  if (!tensor.negotiating && tensor.open > 0) return begin_activity(tensor, id, time);
  last_use_ = kNoUse;
  // The operation belongs to the negotiation before it, if there is one: only the coordinator
  // writes negotiations, so in the file of a worker every operation starts a new use.
  const bool negotiated = tensor.use != kNoUse && !tensor.negotiating &&
                          uses_[tensor.use].negotiated >= 0 && uses_[tensor.use].start < 0;
  TensorUse& use = negotiated ? uses_[tensor.use] : new_use(tensor);
  use.operation = id;
  use.start = std::max(time, use.negotiated);
  tensor.negotiating = false;
  tensor.open = 1;
}

void Timeline::begin_activity(Tensor& tensor, NameId name, Nanos time) {
  TensorUse& use = uses_[tensor.use];
  use.activities.push_back({name, time, -1});
  ++tensor.open;
  // When an activity begins, Horovod writes one event per tensor of the response, without any other
  // event between them. So two neighbouring begins of the same activity belong to one response.
  const bool fused =
      last_use_ != kNoUse && last_activity_ == name && uses_[last_use_].operation == use.operation;
  if (fused) {
    const std::uint32_t a = leader(last_use_), b = leader(tensor.use);
    uses_[std::max(a, b)].fused_with = std::min(a, b);
  }
  last_activity_ = name;
  last_use_ = tensor.use;
}

void Timeline::end(Tensor& tensor, Nanos time, const Args& args) {
  if (tensor.open == 0) {
    ++unmatched_;
    return;
  }
  TensorUse& use = uses_[tensor.use];
  --tensor.open;
  if (tensor.negotiating) {
    use.negotiated = std::max(time, use.negotiated_from);
    tensor.negotiating = false;
  } else if (tensor.open > 0) {
    const auto begun = std::find_if(use.activities.rbegin(), use.activities.rend(),
                                    [](const Activity& a) { return a.end < 0; });
    begun->end = std::max(time, begun->start);
  } else {
    use.end = std::max(time, use.start);
    use.dtype = args.dtype;
    use.elements = elements_of(args.shape);
  }
}

// Parents always have lower numbers than their children, so the loop ends. Chains stay short: they
// grow only with the tensors of one response.
std::uint32_t Timeline::leader(std::uint32_t use) const {
  while (uses_[use].fused_with != use) use = uses_[use].fused_with;
  return use;
}

std::int64_t Timeline::unfinished() const {
  return dropped_ + std::count_if(tensors_.begin(), tensors_.end(),
                                  [](const Tensor& tensor) { return tensor.open > 0; });
}

std::vector<Response> Timeline::responses() const {
  std::map<std::uint32_t, Response> by_leader;
  for (std::uint32_t i = 0; i < uses_.size(); ++i) {
    const TensorUse& use = uses_[i];
    if (use.start < 0 || use.end < 0) continue;
    const auto [found, is_new] = by_leader.try_emplace(leader(i));
    Response& response = found->second;
    response.start = is_new ? use.start : std::min(response.start, use.start);
    response.end = std::max(response.end, use.end);
    response.uses.push_back(i);
  }
  std::vector<Response> list;
  for (auto& [first, response] : by_leader) list.push_back(std::move(response));
  std::stable_sort(list.begin(), list.end(), [](const Response& a, const Response& b) {
    return std::pair(a.start, a.end) < std::pair(b.start, b.end);
  });
  return list;
}

}  // namespace weft::trace::horovod
