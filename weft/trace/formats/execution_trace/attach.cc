// SPDX-License-Identifier: Apache-2.0
// Completes the collectives of a profile from the execution trace of the same rank:
//   1. List the collective calls of each of the two files in the order in which they started.
//   2. Pair them by a longest common subsequence. So a call that only one of the files has does not
//      shift the other pairs.
//   3. Copy into each paired call what the profile lacks.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "weft/trace/dtype.h"
#include "weft/trace/formats/execution_trace/execution_trace.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kAttached{
    "sizes-from-execution-trace", Severity::kInfo,
    "sizes and groups of collectives were taken from the execution trace of the same rank",
    "nothing needs to be done"};
constexpr DiagnosticKind kMismatch{
    "execution-trace-mismatch", Severity::kWarning,
    "the execution trace and the profile do not contain the same collectives; as many as possible "
    "were paired in order",
    "record the two files over the same steps: start and stop the two observers together"};
constexpr DiagnosticKind kNothing{"execution-trace-unused", Severity::kInfo,
                                  "the execution trace contains nothing that the profile lacks",
                                  "nothing needs to be done"};

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
constexpr std::size_t kLargestTable = 50'000'000;  // entries, that is 200 MB

// Finds a longest common subsequence of the positions 0..n and 0..m. same(i, j) tells whether two
// positions match. Equal heads and tails are paired first, so the quadratic table covers only the
// part in the middle that differs. If this table would still exceed kLargestTable, the middle stays
// unpaired.
Pairs align(std::size_t n, std::size_t m,
            const std::function<bool(std::size_t, std::size_t)>& same) {
  Pairs pairs;
  std::size_t head = 0;
  while (head < n && head < m && same(head, head)) pairs.emplace_back(head, head), ++head;
  Pairs tail;
  while (n > head && m > head && same(n - 1, m - 1)) tail.emplace_back(--n, --m);
  const std::size_t rows = n - head;
  const std::size_t columns = m - head;
  if (rows > 0 && columns > 0 && rows <= kLargestTable / columns) {
    std::vector<std::uint32_t> best((rows + 1) * (columns + 1), 0);
    const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
      return best[i * (columns + 1) + j];
    };
    for (std::size_t i = rows; i-- > 0;) {
      for (std::size_t j = columns; j-- > 0;) {
        at(i, j) = std::max(at(i + 1, j), at(i, j + 1));
        if (same(head + i, head + j)) at(i, j) = std::max(at(i, j), at(i + 1, j + 1) + 1);
      }
    }
    for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
      if (same(head + i, head + j) && at(i, j) == at(i + 1, j + 1) + 1) {
        pairs.emplace_back(head + i++, head + j++);
      } else if (at(i + 1, j) >= at(i, j + 1)) {
        ++i;
      } else {
        ++j;
      }
    }
  }
  pairs.insert(pairs.end(), tail.rbegin(), tail.rend());
  return pairs;
}

// A collective call of the profile or of the execution trace, with the values that pairing
// compares.
struct Candidate {
  std::uint32_t event = kNone;       ///< if the call is from the profile: its event
  std::uint32_t collective = kNone;  ///< if the call is from the execution trace: its index
  CollectiveKind kind = CollectiveKind::kOther;
  std::int64_t elements = -1;
};

// Whether two calls can be the same call. An unknown kind or size matches everything, because older
// files leave these values out.
bool alike(const Candidate& a, const Candidate& b) {
  const bool kinds =
      a.kind == CollectiveKind::kOther || b.kind == CollectiveKind::kOther || a.kind == b.kind;
  return kinds && (a.elements < 0 || b.elements < 0 || a.elements == b.elements);
}

class Attaching {
 public:
  Attaching(RankTrace& trace, const ExecutionTrace& execution)
      : trace_(trace), execution_(execution) {}

  // Profiles of different PyTorch versions show collectives in different ways. Try three ways, and
  // begin with the one that gives the most facts: record_param_comms operators (which include
  // waits), "nccl:" annotations, kernels. The second and the third way do not show waits. For these
  // two ways, the waits of the execution trace are left out too.
  void run() {
    if (try_pairing(profile_calls("record_param_comms"), execution_calls(true))) return;
    if (try_pairing(profile_calls("nccl:"), execution_calls(false))) return;
    try_pairing(profile_kernels(), execution_calls(false));
  }

  std::int64_t completed() const { return completed_; }
  std::size_t in_profile() const { return in_profile_; }
  std::size_t in_execution() const { return in_execution_; }
  std::size_t paired() const { return paired_; }

 private:
  std::string_view name_of(std::uint32_t event) const {
    return trace_.names.text(trace_.events.name[event]);
  }

  std::vector<Candidate> execution_calls(bool with_waits) const {
    std::vector<Candidate> list;
    for (const ExecutionNode& node : execution_.nodes) {
      if (node.collective == kNone) continue;
      const CollectiveDetail& detail = execution_.collectives[node.collective];
      const std::string_view name = execution_.names.text(detail.name);
      if (!with_waits && name == "wait") continue;
      list.push_back({kNone, node.collective, kind_from_name(name), detail.in_elements});
    }
    return list;
  }

  void sort_by_start(std::vector<Candidate>& list) const {
    const Events& events = trace_.events;
    std::stable_sort(list.begin(), list.end(), [&](const Candidate& a, const Candidate& b) {
      return events.start[a.event] < events.start[b.event];
    });
  }

  std::vector<Candidate> profile_calls(std::string_view prefix) const {
    std::vector<Candidate> list;
    const Events& events = trace_.events;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      const bool host =
          events.kind[i] == EventKind::kHostOp || events.kind[i] == EventKind::kAnnotation;
      if (!host || !name_of(i).starts_with(prefix)) continue;
      std::int64_t elements = -1;
      if (events.detail[i] != kNone) {
        const HostOpDetail& detail = trace_.host_ops[events.detail[i]];
        elements = input_elements(trace_.names.text(detail.input_dims));
      }
      list.push_back({i, kNone, kind_from_name(name_of(i)), elements});
    }
    sort_by_start(list);
    return list;
  }

  // Sorted by launch, which is the order of the calls. Kernels of parallel streams may start in
  // another order.
  std::vector<Candidate> profile_kernels() const {
    const Events& events = trace_.events;
    std::unordered_map<std::uint32_t, Nanos> launched;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      if (events.kind[i] == EventKind::kRuntime && events.correlation[i] != 0) {
        launched.try_emplace(events.correlation[i], events.start[i]);
      }
    }
    std::vector<std::pair<Nanos, Candidate>> found;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      if (events.kind[i] != EventKind::kKernel) continue;
      if (name_of(i).find("nccl") == std::string_view::npos) continue;
      const auto launch = launched.find(events.correlation[i]);
      const Nanos time = launch == launched.end() ? events.start[i] : launch->second;
      found.push_back({time, {i, kNone, kind_from_name(name_of(i)), -1}});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Candidate> list;
    for (const auto& [time, candidate] : found) list.push_back(candidate);
    return list;
  }

  /// Pairs the calls and completes the collectives. Returns false if the profile has no calls of
  /// this sort, so that run() tries the next way.
  bool try_pairing(const std::vector<Candidate>& profile, const std::vector<Candidate>& execution) {
    if (profile.empty()) return false;
    in_profile_ = profile.size();
    in_execution_ = execution.size();
    const Pairs pairs = align(profile.size(), execution.size(), [&](std::size_t i, std::size_t j) {
      return alike(profile[i], execution[j]);
    });
    paired_ = pairs.size();
    for (const auto& [i, j] : pairs) {
      complete(profile[i].event, execution_.collectives[execution[j].collective]);
    }
    return true;
  }

  // Returns the collective index in the detail record of an event. Creates the detail record if the
  // event has none.
  std::uint32_t& collective_slot(std::uint32_t event) {
    std::uint32_t& detail = trace_.events.detail[event];
    if (trace_.events.kind[event] == EventKind::kKernel) {
      if (detail == kNone) {
        trace_.kernels.emplace_back();
        detail = static_cast<std::uint32_t>(trace_.kernels.size() - 1);
      }
      return trace_.kernels[detail].collective;
    }
    if (detail == kNone) {
      trace_.host_ops.emplace_back();
      detail = static_cast<std::uint32_t>(trace_.host_ops.size() - 1);
    }
    return trace_.host_ops[detail].collective;
  }

  /// Fills only values that the profile lacks. The profile's own values are certain, whereas a
  /// pairing may be wrong.
  void complete(std::uint32_t event, const CollectiveDetail& known) {
    std::uint32_t& slot = collective_slot(event);
    if (slot == kNone) {
      trace_.collectives.emplace_back();
      slot = static_cast<std::uint32_t>(trace_.collectives.size() - 1);
    }
    CollectiveDetail& detail = trace_.collectives[slot];
    bool changed = false;
    const auto fill_name = [&](NameId& mine, NameId theirs) {
      if (mine != 0 || theirs == 0) return;
      mine = trace_.names.intern(execution_.names.text(theirs));
      changed = true;
    };
    const auto fill = [&](auto& mine, auto theirs) {
      if (mine >= 0 || theirs < 0) return;
      mine = theirs;
      changed = true;
    };
    fill_name(detail.name, known.name);
    fill_name(detail.dtype, known.dtype);
    fill_name(detail.group, known.group);
    fill(detail.in_elements, known.in_elements);
    fill(detail.out_elements, known.out_elements);
    fill(detail.group_size, known.group_size);
    fill(detail.sequence, known.sequence);
    if (changed) {
      ++completed_;
      trace_.facts.collective_args = true;
    }
  }

  RankTrace& trace_;
  const ExecutionTrace& execution_;
  std::int64_t completed_ = 0;
  std::size_t in_profile_ = 0;
  std::size_t in_execution_ = 0;
  std::size_t paired_ = 0;
};

}  // namespace

std::int64_t attach(RankTrace& trace, const ExecutionTrace& execution, Diagnostics& diagnostics) {
  Attaching attaching(trace, execution);
  attaching.run();
  const std::string place = execution.file + ": rank " + std::to_string(trace.rank);
  if (attaching.paired() < std::max(attaching.in_profile(), attaching.in_execution())) {
    diagnostics.add(kMismatch, place + ", " + std::to_string(attaching.in_profile()) +
                                   " calls in " + "the profile, " +
                                   std::to_string(attaching.in_execution()) +
                                   " in the execution trace, " +
                                   std::to_string(attaching.paired()) + " paired");
  }
  if (attaching.completed() > 0) {
    diagnostics.add(kAttached, place, attaching.completed());
  } else {
    diagnostics.add(kNothing, place);
  }
  return attaching.completed();
}

}  // namespace weft::trace
