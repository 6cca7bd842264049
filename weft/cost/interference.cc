// SPDX-License-Identifier: Apache-2.0
// The measurement has three stages. First, merge the times in which a collective was resident on
// each rank (an NCCL kernel is resident from the arrival of its rank until the transfer ends).
// Second, compute for every kernel which share of its time these times cover. Kernels that are
// nearly fully covered, and kernels that are hardly covered, become the two sorts of samples of
// their (name, shape). Third, compare the medians of the two sorts. The weight of each comparison
// is the size of the smaller sample, so a kernel with few samples of one sort counts little.
#include "weft/cost/interference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "weft/base/median.h"

namespace weft::cost {
namespace {

using graph::OpId;
using graph::OpKind;

constexpr double kBeside = 0.95;          ///< least overlap of a kernel "beside communication"
constexpr double kAlone = 0.02;           ///< largest overlap of a kernel "alone"
constexpr std::size_t kEnoughOfEach = 2;  ///< both sorts of samples need at least this many kernels
/// If there is less kernel time than this, the ratio is mostly noise. Then the slow-down stays 1.
constexpr Nanos kEnoughTime = 2 * kMillisecond;

}  // namespace

Interference measure_interference(const trace::Run& run, const graph::Graph& graph) {
  const graph::Ops& ops = graph.ops;
  Interference result;
  result.overlap.assign(graph.size(), 0.0);
  std::map<std::int32_t, std::vector<std::pair<Nanos, Nanos>>> resident;
  std::map<std::int32_t, const trace::RankTrace*> trace_of;
  for (const trace::RankTrace& trace : run.ranks) trace_of[trace.rank] = &trace;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (ops.kind[op] != OpKind::kArrive) continue;
    const Nanos start = ops.recorded_start[op];
    resident[graph.rank(op)].emplace_back(start, start + ops.recorded_duration[op]);
  }
  for (auto& [rank, list] : resident) {
    std::sort(list.begin(), list.end());
    std::vector<std::pair<Nanos, Nanos>> merged;
    for (const auto& interval : list) {
      if (!merged.empty() && interval.first <= merged.back().second) {
        merged.back().second = std::max(merged.back().second, interval.second);
      } else {
        merged.push_back(interval);
      }
    }
    list = std::move(merged);
  }

  struct Samples {
    std::vector<Nanos> alone, beside;
  };
  std::map<std::pair<NameId, std::string_view>, Samples> kernels;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (ops.kind[op] != OpKind::kKernel || ops.recorded_duration[op] <= 0) continue;
    const auto found = resident.find(graph.rank(op));
    const Nanos start = ops.recorded_start[op], end = start + ops.recorded_duration[op];
    Nanos covered = 0;
    if (found != resident.end()) {
      const auto& list = found->second;
      auto it = std::upper_bound(list.begin(), list.end(), std::pair{start, INT64_MAX});
      if (it != list.begin()) --it;
      for (; it != list.end() && it->first < end; ++it) {
        covered += std::max<Nanos>(0, std::min(end, it->second) - std::max(start, it->first));
      }
    }
    const double overlap = static_cast<double>(covered) / static_cast<double>(end - start);
    result.overlap[op] = overlap;
    // A kernel that is covered only in part belongs to neither sort of sample.
    if (overlap < kBeside && overlap > kAlone) continue;
    const auto trace = trace_of.find(graph.rank(op));
    if (trace == trace_of.end() || ops.event[op] == graph::kNoId) continue;
    const std::uint32_t detail = trace->second->events.detail[ops.event[op]];
    // The name alone is not enough: a GEMM kernel of one name runs for matrices of any size.
    const std::string_view shape =
        detail == trace::kNone ? std::string_view()
                               : trace->second->names.text(trace->second->kernels[detail].shape);
    Samples& samples = kernels[{ops.name[op], shape}];
    (overlap >= kBeside ? samples.beside : samples.alone).push_back(ops.recorded_duration[op]);
  }
  double beside = 0, alone = 0;
  for (auto& [key, samples] : kernels) {
    if (samples.alone.size() < kEnoughOfEach || samples.beside.size() < kEnoughOfEach) continue;
    const auto weight = static_cast<double>(std::min(samples.alone.size(), samples.beside.size()));
    alone += weight * static_cast<double>(median(samples.alone));
    beside += weight * static_cast<double>(median(samples.beside));
  }
  result.evidence = std::llround(alone);
  // A factor below 1 would mean that communication makes compute faster. Such a result is noise.
  if (result.evidence >= kEnoughTime) result.slowdown = std::max(1.0, beside / alone);
  return result;
}

void remove_interference(graph::Graph& graph, const Interference& interference) {
  for (OpId op = 0; op < graph.size(); ++op) {
    const double overlap = interference.overlap[op];
    if (overlap == 0) continue;
    // During the covered share of its time, the kernel ran at 1 / slowdown of the full rate. During
    // the rest it ran at full rate.
    const double work = 1 - overlap + overlap / interference.slowdown;
    graph.ops.duration[op] = std::llround(static_cast<double>(graph.ops.duration[op]) * work);
  }
}

}  // namespace weft::cost
