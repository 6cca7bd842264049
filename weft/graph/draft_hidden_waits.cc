// SPDX-License-Identifier: Apache-2.0
// Blocking calls that the profiler does not record (cudaEventSynchronize in older versions, NCCL's
// blocking wait) leave nothing but a silent host thread. It is a wait if a stream ran dry right
// before the thread went on: all that had been issued to it before the silence had just ended. It
// is one, too, if time and again the thread goes on in the same call right after the same kernel.
// Without this, a rank that waits for a late one looks busy, and would stay so without the late
// one.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/rank_draft.h"

namespace weft::graph {
namespace {

/// Shorter silence is ordinary host work.
constexpr Nanos kLeastSilence = 500 * kMicrosecond;
/// A blocked thread goes on this soon after the device is done.
constexpr Nanos kWakeUp = 150 * kMicrosecond;
constexpr Nanos kStreamClockTolerance = 2 * kMicrosecond;
/// One coincidence proves nothing where kernels end all the time: this many do, of long silences.
constexpr std::size_t kLeastRepeats = 3;
constexpr double kMostly = 0.8;
constexpr Nanos kLongSilence = 5 * kMillisecond;

/// Device work of one stream in the order of issue, and what of it ends last up to each.
struct IssuedStream {
  std::vector<Nanos> issued;
  std::vector<OpId> last_to_end;
};

std::vector<IssuedStream> streams_of(const RankDraft& draft) {
  std::vector<IssuedStream> streams(draft.lanes.size());
  std::vector<OpId> ops;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) ops.push_back(id);
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [&](OpId a, OpId b) { return draft.ops[a].issued < draft.ops[b].issued; });
  for (const OpId id : ops) {
    IssuedStream& stream = streams[draft.ops[id].lane];
    stream.issued.push_back(draft.ops[id].issued);
    const bool later = stream.last_to_end.empty() ||
                       draft.ops[stream.last_to_end.back()].end() < draft.ops[id].end();
    stream.last_to_end.push_back(later ? id : stream.last_to_end.back());
  }
  return streams;
}

/// When something recorded begins or ends on each host thread, in order, and what it is.
class SignsOfLife {
 public:
  explicit SignsOfLife(const trace::RankTrace& trace)
      : trace_(trace), signs_(trace.lanes.size()), times_(trace.lanes.size()) {
    for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
      const std::uint32_t lane = trace.events.lane[i];
      if (trace.lanes[lane].on_device) continue;
      signs_[lane].emplace_back(trace.events.start[i], i);
      signs_[lane].emplace_back(trace.events.end(i), i);
    }
    for (std::size_t lane = 0; lane < signs_.size(); ++lane) {
      std::sort(signs_[lane].begin(), signs_[lane].end());
      for (const auto& [time, event] : signs_[lane]) times_[lane].push_back(time);
    }
  }

  const std::vector<Nanos>& times(std::uint32_t lane) const { return times_[lane]; }

  std::string_view name_at(std::uint32_t lane, Nanos time) const {
    const auto found = std::lower_bound(signs_[lane].begin(), signs_[lane].end(),
                                        std::pair{time, std::uint32_t{0}});
    if (found == signs_[lane].end()) return {};
    return trace_.names.text(trace_.events.name[found->second]);
  }

 private:
  const trace::RankTrace& trace_;
  std::vector<std::vector<std::pair<Nanos, std::uint32_t>>> signs_;
  std::vector<std::vector<Nanos>> times_;
};

struct Silence {
  Nanos begin = 0;
  Nanos end = 0;
};

Silence longest_silence(const std::vector<Nanos>& signs, Nanos from, Nanos to) {
  Silence longest;
  Nanos last = from;
  for (auto it = std::upper_bound(signs.begin(), signs.end(), from);; ++it) {
    const Nanos now = it == signs.end() ? to : std::min(*it, to);
    if (now - last > longest.end - longest.begin) longest = {last, now};
    if (now >= to) return longest;
    last = now;
  }
}

/// The work with which a stream ran dry just before the silence ended.
OpId ran_dry(const RankDraft& draft, const std::vector<IssuedStream>& streams,
             const Silence& silence) {
  OpId found = kNoId;
  for (const IssuedStream& stream : streams) {
    const auto after = std::lower_bound(stream.issued.begin(), stream.issued.end(), silence.begin);
    if (after == stream.issued.begin()) continue;
    const OpId last =
        stream.last_to_end[static_cast<std::size_t>(after - stream.issued.begin() - 1)];
    const Nanos end = draft.ops[last].end();
    const bool fits = end > silence.begin && end >= silence.end - kWakeUp &&
                      end <= silence.end + kStreamClockTolerance;
    if (fits && (found == kNoId || draft.ops[found].end() < end)) found = last;
  }
  return found;
}

/// The work that ended last before the silence did, of what had been issued before it began.
OpId ended_last(const RankDraft& draft, const std::vector<OpId>& by_end, const Silence& silence) {
  auto it = std::upper_bound(by_end.begin(), by_end.end(), silence.end + kStreamClockTolerance,
                             [&](Nanos time, OpId op) { return time < draft.ops[op].end(); });
  while (it != by_end.begin()) {
    const OpId op = *--it;
    if (draft.ops[op].end() < std::max(silence.begin, silence.end - kWakeUp)) return kNoId;
    if (draft.ops[op].issued < silence.begin) return op;
  }
  return kNoId;
}

/// A long silence without a stream that ran dry: what the thread did next, what had just ended.
struct Unexplained {
  OpId next = kNoId;
  std::string_view sign;  ///< name of the event with which the thread went on
  OpId cause = kNoId;
};

/// The cause counts where the same call mostly follows the same kernel.
void add_repeated(RankDraft& draft, const std::vector<Unexplained>& silences) {
  std::map<std::string_view, std::size_t> of_sign;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> of_pair;
  const auto pair_of = [&](const Unexplained& u) {
    return std::pair{u.sign, draft.ops[u.cause].name};
  };
  for (const Unexplained& u : silences) {
    ++of_sign[u.sign];
    if (u.cause != kNoId) ++of_pair[pair_of(u)];
  }
  for (const Unexplained& u : silences) {
    if (u.cause == kNoId) continue;
    const std::size_t times = of_pair[pair_of(u)];
    if (times < kLeastRepeats) continue;
    if (static_cast<double>(times) < kMostly * static_cast<double>(of_sign[u.sign])) continue;
    draft.edges.push_back({u.cause, u.next, EdgeKind::kHostSync, true});
  }
}

}  // namespace

void draft_hidden_waits(const trace::RankTrace& trace, RankDraft& draft) {
  const std::vector<IssuedStream> streams = streams_of(draft);
  const SignsOfLife signs(trace);
  std::vector<OpId> by_end;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) by_end.push_back(id);
  }
  std::sort(by_end.begin(), by_end.end(), [&](OpId a, OpId b) {
    return std::pair{draft.ops[a].end(), a} < std::pair{draft.ops[b].end(), b};
  });
  std::vector<Unexplained> unexplained;
  const std::size_t known = draft.edges.size();
  for (std::size_t i = 0; i < known; ++i) {
    const DraftEdge edge = draft.edges[i];
    const DraftOp& next = draft.ops[edge.destination];
    if (edge.kind != EdgeKind::kOrder || next.event == kNoId) continue;
    if (draft.lanes[next.lane].kind != LaneKind::kHost || next.kind == OpKind::kSync) continue;
    const Nanos from = draft.ops[edge.source].end();
    if (next.start - from < kLeastSilence) continue;
    const std::uint32_t lane = trace.events.lane[next.event];
    const Silence silence = longest_silence(signs.times(lane), from, next.start);
    if (silence.end - silence.begin < kLeastSilence) continue;
    const OpId cause = ran_dry(draft, streams, silence);
    if (cause != kNoId) {
      draft.edges.push_back({cause, edge.destination, EdgeKind::kHostSync, true});
    } else if (silence.end - silence.begin >= kLongSilence) {
      unexplained.push_back(
          {edge.destination, signs.name_at(lane, silence.end), ended_last(draft, by_end, silence)});
    }
  }
  add_repeated(draft, unexplained);
}

}  // namespace weft::graph
