// SPDX-License-Identifier: Apache-2.0
// Sorts traces into runs. Only a repeated rank proves that there are several runs. So a group of
// traces is split only as long as some rank occurs twice in it (split()):
//   level 0: by folder;
//   level 1: by the part of the file name before the rank ("resnet50-w4");
//   level 2: by the file name without digits, if every part then holds the same ranks;
//   level 3: drop duplicates (same rank, overlapping times), then split by time.
// A group without repeated ranks is still split if its folders were recorded more than an hour
// apart (split_by_era()). Before all these steps, exact copies are dropped, and jobs of different
// world size are separated. Times are compared last, because the clocks of hosts may differ.
#include "weft/trace/runs/runs.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "weft/trace/formats/probe/probe.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kDuplicate{
    "duplicate-rank", Severity::kWarning,
    "there are two recordings of a rank from the same time; the one with more events was kept",
    "remove the copy, or name only the files of one job"};
constexpr DiagnosticKind kRankAssumed{
    "rank-assumed", Severity::kInfo,
    "neither the content nor the name of the file tells the rank; the lowest free number was used",
    "initialise torch.distributed before the profiler, or put the rank into the file name"};
constexpr DiagnosticKind kMissing{
    "missing-rank", Severity::kWarning,
    "ranks of the job have no recording, so their part in collectives is unknown",
    "pass the files of all ranks, or expect wider error bars"};
constexpr DiagnosticKind kHostOrder{
    "host-order-assumed", Severity::kInfo,
    "profiles of several hosts were joined into one run; ranks are numbered by host name",
    "nothing needs to be done, unless you look at single ranks"};

/// Folders whose recordings begin further apart than this hold different jobs.
constexpr Nanos kSameJob = 3600 * kSecond;
/// Profiles of hosts that are recorded together overlap in time. Gaps of up to this length are
/// accepted.
constexpr Nanos kSameProfile = 60 * kSecond;

using Group = std::vector<RankTrace>;

std::string folder_of(const RankTrace& trace) {
  return std::filesystem::path(trace.file).parent_path().string();
}

Nanos begin_of(const RankTrace& trace) { return trace.epoch; }

Nanos end_of(const RankTrace& trace) {
  Nanos last = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) last = std::max(last, trace.events.end(i));
  return trace.epoch + last;
}

struct Span {
  Nanos begin = 0;
  Nanos end = 0;
  bool overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
};

Span span_of(const RankTrace& trace) { return {begin_of(trace), end_of(trace)}; }

bool has_repeats(const Group& group) {
  std::set<std::int32_t> seen;
  return std::any_of(group.begin(), group.end(),
                     [&](const RankTrace& t) { return !seen.insert(t.rank).second; });
}

// Numbers the traces of a folder whose rank is unknown. Each trace is one process. Launchers start
// local ranks in order, so the order of process ids is probably the order of the ranks.
void number_unknown_ranks(Group& group, const std::string& folder, Diagnostics& diagnostics) {
  std::set<std::int32_t> used;
  std::vector<RankTrace*> unknown;
  for (RankTrace& trace : group) {
    if (folder_of(trace) != folder) continue;
    if (trace.rank >= 0) {
      used.insert(trace.rank);
    } else {
      unknown.push_back(&trace);
    }
  }
  std::sort(unknown.begin(), unknown.end(), [](const RankTrace* a, const RankTrace* b) {
    return std::tie(a->host, a->process, a->file) < std::tie(b->host, b->process, b->file);
  });
  std::int32_t next = 0;
  for (RankTrace* trace : unknown) {
    while (used.contains(next)) ++next;
    trace->rank = next++;
    diagnostics.add(kRankAssumed, trace->file + ": rank " + std::to_string(trace->rank));
  }
}

// Of two recordings of one rank that overlap in time, keeps the recording with more events. Does so
// only for pairs for which `same` returns true.
void drop_duplicates(Group& group,
                     const std::function<bool(const RankTrace&, const RankTrace&)>& same,
                     Diagnostics& diagnostics) {
  std::vector<Span> spans;
  for (const RankTrace& trace : group) spans.push_back(span_of(trace));
  std::vector<bool> dropped(group.size(), false);
  for (std::size_t a = 0; a < group.size(); ++a) {
    for (std::size_t b = a + 1; b < group.size() && !dropped[a]; ++b) {
      if (dropped[b] || group[a].rank != group[b].rank || !spans[a].overlaps(spans[b])) continue;
      if (!same(group[a], group[b])) continue;
      const std::size_t loser = group[b].events.size() > group[a].events.size() ? a : b;
      dropped[loser] = true;
      diagnostics.add(kDuplicate,
                      "rank " + std::to_string(group[a].rank) + ": " + group[loser].file);
    }
  }
  std::size_t out = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (dropped[i]) continue;
    if (out != i) group[out] = std::move(group[i]);
    ++out;
  }
  group.resize(out);
}

// Whether one trace is a copy of the other, complete or cut. Takes a sample of the events of the
// smaller trace. Most of these events must start at exactly the time of an event of the larger
// trace.
bool same_recording(const RankTrace& a, const RankTrace& b) {
  if (a.rank < 0 || a.process != b.process || a.host != b.host) return false;
  const RankTrace& small = a.events.size() < b.events.size() ? a : b;
  const RankTrace& large = &small == &a ? b : a;
  std::vector<Nanos> times;
  for (const Nanos start : large.events.start) times.push_back(large.epoch + start);
  std::sort(times.begin(), times.end());
  constexpr std::size_t kSample = 64;
  const std::size_t stride = std::max<std::size_t>(1, small.events.size() / kSample);
  std::size_t looked = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i < small.events.size(); i += stride, ++looked) {
    const Nanos time = small.epoch + small.events.start[i];
    found += std::binary_search(times.begin(), times.end(), time) ? 1 : 0;
  }
  return looked > 0 && 2 * found > looked;
}

template <class Key>
std::vector<Group> split_by(Group group, Key key) {
  std::map<decltype(key(group.front())), Group> parts;
  for (RankTrace& trace : group) parts[key(trace)].push_back(std::move(trace));
  std::vector<Group> out;
  for (auto& [ignored, part] : parts) out.push_back(std::move(part));
  return out;
}

// Whether the key differs between two recordings of the same rank. If not, splitting by the key is
// useless.
template <class Key>
bool parts_repeats(const Group& group, Key key) {
  std::map<std::int32_t, decltype(key(group.front()))> first;
  for (const RankTrace& trace : group) {
    const auto [found, fresh] = first.try_emplace(trace.rank, key(trace));
    if (!fresh && found->second != key(trace)) return true;
  }
  return false;
}

// Splits repeated ranks that nothing else separates. If all ranks were recorded equally often, the
// k-th recording of each rank belongs to run k, whatever the clocks show. Otherwise, recordings
// that overlap in time belong together.
std::vector<Group> split_by_time(Group group) {
  std::sort(group.begin(), group.end(), [](const RankTrace& a, const RankTrace& b) {
    return std::tuple(begin_of(a), a.rank, a.file) < std::tuple(begin_of(b), b.rank, b.file);
  });
  std::map<std::int32_t, std::size_t> count;
  for (const RankTrace& trace : group) ++count[trace.rank];
  const bool even = std::all_of(count.begin(), count.end(), [&](const auto& entry) {
    return entry.second == count.begin()->second;
  });
  std::vector<Group> runs;
  if (even) {
    std::map<std::int32_t, std::size_t> next;
    runs.resize(count.begin()->second);
    for (RankTrace& trace : group) runs[next[trace.rank]++].push_back(std::move(trace));
    return runs;
  }
  Span current;
  for (RankTrace& trace : group) {
    const Span span = span_of(trace);
    const bool taken =
        !runs.empty() && std::any_of(runs.back().begin(), runs.back().end(),
                                     [&](const RankTrace& t) { return t.rank == trace.rank; });
    if (runs.empty() || taken || !current.overlaps(span)) {
      runs.emplace_back();
      current = span;
    }
    current.end = std::max(current.end, span.end);
    runs.back().push_back(std::move(trace));
  }
  return runs;
}

// Splits folders that were recorded more than an hour apart: they hold different jobs, even if
// their ranks would fit together. Files of one folder stay together, since the clocks of their
// hosts may differ by any time.
std::vector<Group> split_by_era(Group group) {
  std::map<std::string, Group> folders;
  for (RankTrace& trace : group) folders[folder_of(trace)].push_back(std::move(trace));
  std::vector<Group> parts;
  for (auto& [folder, part] : folders) parts.push_back(std::move(part));
  const auto begin = [](const Group& part) {
    Nanos first = begin_of(part.front());
    for (const RankTrace& trace : part) first = std::min(first, begin_of(trace));
    return first;
  };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const Group& a, const Group& b) { return begin(a) < begin(b); });
  std::vector<Group> eras;
  Nanos last = 0;
  for (Group& part : parts) {
    const Nanos first = begin(part);
    if (eras.empty() || first - last > kSameJob) eras.emplace_back();
    last = first;
    for (RankTrace& trace : part) eras.back().push_back(std::move(trace));
  }
  return eras;
}

// Returns the file name without digits, because times and process ids differ from rank to rank.
std::string bare_name(const RankTrace& trace) {
  std::string name = std::filesystem::path(trace.file).filename().string();
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

// Whether names separate runs. They do not if the name of every file is different.
template <class Key>
bool names_runs(const Group& group, Key key) {
  std::set<std::string> names;
  std::set<std::int32_t> ranks;
  for (const RankTrace& trace : group) {
    names.insert(key(trace));
    ranks.insert(trace.rank);
  }
  return parts_repeats(group, key) && (ranks.size() == 1 || names.size() < group.size());
}

// Like names_runs(), but every part must also hold the same ranks. Then the names belong to
// different jobs and not to copies of single files.
template <class Key>
bool names_whole_runs(const Group& group, Key key) {
  std::map<std::string, std::set<std::int32_t>> ranks;
  for (const RankTrace& trace : group) ranks[key(trace)].insert(trace.rank);
  return names_runs(group, key) && std::all_of(ranks.begin(), ranks.end(), [&](const auto& part) {
           return part.second == ranks.begin()->second;
         });
}

// Splits recursively until no rank is repeated; see the head of this file.
std::vector<Group> split(Group group, std::size_t level, Diagnostics& diagnostics) {
  if (!has_repeats(group)) return split_by_era(std::move(group));
  std::vector<Group> parts;
  const auto by_name = [](const RankTrace& t) { return name_before_rank(t.file); };
  if (level == 0 && parts_repeats(group, folder_of)) {
    parts = split_by(std::move(group), folder_of);
  } else if (level == 1 && names_runs(group, by_name)) {
    parts = split_by(std::move(group), by_name);
  } else if (level == 2 && names_whole_runs(group, bare_name)) {
    parts = split_by(std::move(group), bare_name);
  } else if (level == 3) {
    drop_duplicates(
        group, [](const RankTrace&, const RankTrace&) { return true; }, diagnostics);
    return has_repeats(group) ? split_by_time(std::move(group))
                              : split(std::move(group), level, diagnostics);
  } else {
    parts.push_back(std::move(group));
  }
  std::vector<Group> out;
  for (Group& part : parts) {
    for (Group& run : split(std::move(part), level + 1, diagnostics)) out.push_back(std::move(run));
  }
  return out;
}

// Joins profiles that number the devices of their own host (JAX, XLA). If files in one folder
// overlap in time, they belong to the hosts of one job. Their ranks are numbered from host to host.
std::vector<Group> join_hosts(std::vector<FileTraces> files, Diagnostics& diagnostics) {
  struct Host {
    Group ranks;
    Span span;
  };
  std::map<std::string, std::vector<Host>> folders;
  for (FileTraces& file : files) {
    Host host{std::move(file), {INT64_MAX, INT64_MIN}};
    for (const RankTrace& trace : host.ranks) {
      host.span.begin = std::min(host.span.begin, begin_of(trace) - kSameProfile);
      host.span.end = std::max(host.span.end, end_of(trace) + kSameProfile);
    }
    folders[folder_of(host.ranks.front())].push_back(std::move(host));
  }
  std::vector<Group> groups;
  for (auto& [folder, hosts] : folders) {
    std::stable_sort(hosts.begin(), hosts.end(),
                     [](const Host& a, const Host& b) { return a.span.begin < b.span.begin; });
    for (auto first = hosts.begin(); first != hosts.end();) {
      auto last = first;
      for (Span all = first->span; last != hosts.end() && all.overlaps(last->span); ++last) {
        all.end = std::max(all.end, last->span.end);
      }
      // If all file names contain a rank ("r0.xplane.pb"), sort by these ranks. Otherwise, sort by
      // the names of the hosts.
      const bool named = std::all_of(first, last, [](const Host& host) {
        return rank_from_name(host.ranks.front().file) >= 0;
      });
      std::sort(first, last, [named](const Host& a, const Host& b) {
        const RankTrace &x = a.ranks.front(), &y = b.ranks.front();
        const auto rank = [named](const RankTrace& t) {
          return named ? rank_from_name(t.file) : 0;
        };
        return std::tuple(rank(x), x.host, x.file) < std::tuple(rank(y), y.host, y.file);
      });
      if (last - first > 1 && !named) diagnostics.add(kHostOrder, folder, last - first);
      // If each file holds one device, the number in its name is the rank itself, and some ranks
      // may be missing. Otherwise, ranks are counted.
      std::set<std::int32_t> names;
      const bool rank_each = named && std::all_of(first, last, [&](const Host& host) {
                               return host.ranks.size() == 1 &&
                                      names.insert(rank_from_name(host.ranks.front().file)).second;
                             });
      Group group;
      for (; first != last; ++first) {
        for (RankTrace& trace : first->ranks) {
          trace.rank =
              rank_each ? rank_from_name(trace.file) : static_cast<std::int32_t>(group.size());
          trace.counts_devices = false;
          group.push_back(std::move(trace));
        }
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

std::string rank_list(const MissingRanks& missing) {
  std::string text;
  for (const std::int32_t rank : missing.first) {
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  }
  const std::int64_t more = missing.count - static_cast<std::int64_t>(missing.first.size());
  return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

// Returns the most frequent beginning of the file names. A name that only contains a host and a
// time does not describe the job. In this case the name of its folder counts instead.
std::string label_of(const Group& group) {
  std::map<std::string, int> votes;
  std::string best;
  for (const RankTrace& trace : group) {
    const bool unnamed =
        worker_from_name(trace.file).pid >= 0 || trace.format == std::string_view(kProbeLogName);
    std::string label = unnamed ? std::string() : name_before_rank(trace.file);
    if (label.empty()) label = std::filesystem::path(folder_of(trace)).filename().string();
    if (++votes[label] > votes[best] || best.empty()) best = label;
  }
  return best;
}

Run make_run(Group group) {
  Run run;
  run.ranks = std::move(group);
  std::sort(run.ranks.begin(), run.ranks.end(),
            [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  for (const RankTrace& trace : run.ranks) run.world = std::max(run.world, trace.world);
  if (run.world < 0) run.world = static_cast<std::int32_t>(run.ranks.size());
  run.world = std::max(run.world, run.ranks.back().rank + 1);
  run.label = label_of(run.ranks);
  return run;
}

// Users choose a run by its label (--run), so labels must be unique.
void make_labels_unique(std::vector<Run>& runs) {
  std::map<std::string, int> uses;
  for (const Run& run : runs) ++uses[run.label];
  std::map<std::string, int> next;
  for (Run& run : runs) {
    if (uses[run.label] > 1) run.label += "#" + std::to_string(++next[run.label]);
  }
}

}  // namespace

std::vector<Run> sort_into_runs(std::vector<FileTraces> files, Diagnostics& diagnostics) {
  std::vector<Group> groups;
  Group loose;
  std::vector<FileTraces> hosts;
  for (FileTraces& file : files) {
    if (!file.empty() && file.front().counts_devices) {
      hosts.push_back(std::move(file));
    } else if (file.size() > 1) {
      groups.push_back(std::move(file));
    } else if (file.size() == 1) {
      loose.push_back(std::move(file.front()));
    }
  }
  for (Group& run : join_hosts(std::move(hosts), diagnostics)) groups.push_back(std::move(run));
  drop_duplicates(loose, same_recording, diagnostics);
  // Traces with different world sizes belong to different jobs.
  for (Group& world : split_by(std::move(loose), [](const RankTrace& t) { return t.world; })) {
    std::set<std::string> folders;
    for (const RankTrace& trace : world) folders.insert(folder_of(trace));
    for (const std::string& folder : folders) number_unknown_ranks(world, folder, diagnostics);
    for (Group& run : split(std::move(world), 0, diagnostics)) groups.push_back(std::move(run));
  }
  std::vector<Run> runs;
  for (Group& group : groups) runs.push_back(make_run(std::move(group)));
  const auto begin = [](const Run& run) {
    Nanos first = begin_of(run.ranks.front());
    for (const RankTrace& trace : run.ranks) first = std::min(first, begin_of(trace));
    return first;
  };
  std::stable_sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) {
    return std::pair(begin(a), a.ranks.front().file) < std::pair(begin(b), b.ranks.front().file);
  });
  make_labels_unique(runs);
  return runs;
}

MissingRanks missing_ranks(const Run& run) {
  MissingRanks missing;
  std::int32_t next = 0;
  // A job of many thousand ranks may have only one file. So count missing ranks without a loop over
  // them.
  const auto gap_until = [&](std::int32_t end) {
    if (end <= next) return;
    missing.count += end - next;
    for (; next < end && missing.first.size() < MissingRanks::kListed; ++next) {
      missing.first.push_back(next);
    }
  };
  for (const RankTrace& trace : run.ranks) {
    gap_until(trace.rank);
    next = trace.rank + 1;
  }
  gap_until(run.world);
  return missing;
}

void report_missing_ranks(const Run& run, Diagnostics& diagnostics) {
  // Op timelines show all tensor-parallel shards as one rank, so ranks are missing on purpose.
  if (run.ranks.front().stage >= 0) return;
  const MissingRanks missing = missing_ranks(run);
  if (missing.count == 0) return;
  const std::string place = (run.label.empty() ? "" : run.label + ": ") + "ranks " +
                            rank_list(missing) + " of " + std::to_string(run.world);
  diagnostics.add(kMissing, place, missing.count);
}

}  // namespace weft::trace
