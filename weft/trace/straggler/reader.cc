// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/straggler/reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "weft/base/decimal.h"
#include "weft/base/json_scanner.h"
#include "weft/trace/json_repairs.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kStepCut{"timeline-step-cut", Severity::kDataLoss,
                                  "the step in which the timeline breaks off was left out",
                                  "copy or export the file again"};
constexpr DiagnosticKind kBadEvent{
    "timeline-bad-event", Severity::kDataLoss,
    "an event without usable time, process, track or step was left out",
    "export the timeline again; every event needs ts, dur, pid, tid and args.step"};
constexpr DiagnosticKind kNoTrackNames{
    "timeline-track-names-missing", Severity::kWarning,
    "tracks have no 'PP rank N, TP rank M' name; stages follow the order of ranks in a replica",
    "keep the metadata events at the end of the file"};

constexpr std::array<std::string_view, 5> kTracks = {"compute", "pp-comm", "tp-comm", "dp-comm",
                                                     "misc"};
/// Keeps sums and differences of times well inside 64 bits.
constexpr Nanos kLatest = 2'000'000'000 * kSecond;
constexpr Nanos kLongest = 1'000'000'000 * kSecond;
constexpr std::int64_t kMostIds = 1 << 24;

struct RawEvent {
  Nanos start = -1;
  Nanos duration = -1;
  NameId name = 0;
  std::int64_t pid = -1;
  std::int64_t tid = -1;
  PhaseDetail detail;
};

struct TrackName {
  std::int32_t stage = 0;
  std::int32_t shard = 0;
  std::string text;
};

using TrackId = std::pair<std::int64_t, std::int64_t>;  ///< pid, tid

struct File {
  Interner names;
  std::vector<RawEvent> events;
  std::map<TrackId, TrackName> tracks;
  std::int64_t entries = 0;
};

std::optional<std::int32_t> number_after(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value >= kMostIds) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// "PP rank 1, TP rank 0, dp-comm"
std::optional<TrackName> parse_track(std::string_view text) {
  TrackName track;
  track.text = text;
  const auto stage = number_after(text, "PP rank ");
  if (!stage) return std::nullopt;
  const auto shard = number_after(text, ", TP rank ");
  if (!shard) return std::nullopt;
  track.stage = *stage;
  track.shard = *shard;
  return track;
}

/// Small whole numbers; anything else, null included, is -1.
std::int32_t small_int(JsonScanner& json) {
  const auto value = parse_int(json.number());
  if (!value || *value < 0 || *value > 0x7fffffff) return -1;
  return static_cast<std::int32_t>(*value);
}

void read_args(JsonScanner& json, RawEvent& event, std::string& label) {
  if (json.peek() != JsonKind::kObject) return json.skip();
  json.enter();
  std::string_view key;
  while (json.next_key(key)) {
    if (key == "step") {
      event.detail.step = small_int(json);
    } else if (key == "model_chunk") {
      event.detail.chunk = small_int(json);
    } else if (key == "mb_id") {
      event.detail.micro_batch = small_int(json);
    } else if (key == "seq_id") {
      event.detail.sequence = small_int(json);
    } else if (key == "name") {
      label = json.string();
    } else {
      json.skip();
    }
  }
}

bool usable(const RawEvent& event) {
  return event.start >= 0 && event.start <= kLatest && event.duration >= 0 &&
         event.duration <= kLongest && event.pid >= 0 && event.pid < kMostIds && event.tid >= 0 &&
         event.tid < kMostIds && event.detail.step >= 0;
}

void read_event(JsonScanner& json, File& file, Diagnostics& diagnostics,
                const std::string& source) {
  if (json.peek() != JsonKind::kObject) return json.skip();
  const std::int64_t at = json.offset();
  json.enter();
  RawEvent event;
  std::string name, label, phase;
  std::string_view key;
  while (json.next_key(key)) {
    if (key == "name") {
      name = json.string();
    } else if (key == "ph") {
      phase = json.string();
    } else if (key == "pid") {
      event.pid = parse_int(json.number()).value_or(-1);
    } else if (key == "tid") {
      event.tid = parse_int(json.number()).value_or(-1);
    } else if (key == "ts") {
      event.start = parse_scaled(json.number(), 3).value_or(-1);
    } else if (key == "dur") {
      event.duration = parse_scaled(json.number(), 3).value_or(-1);
    } else if (key == "args") {
      read_args(json, event, label);
    } else {
      json.skip();
    }
  }
  if (!json.ok()) return;  // half an event
  ++file.entries;
  if (phase == "M" && name == "thread_name") {
    if (auto track = parse_track(label)) file.tracks[{event.pid, event.tid}] = std::move(*track);
  } else if (phase == "X") {
    event.name = file.names.intern(name);
    if (usable(event)) {
      file.events.push_back(event);
    } else {
      diagnostics.add(kBadEvent, source + ": byte " + std::to_string(at));
    }
  }
}

Status read_events(JsonScanner& json, File& file, const ReadOptions& options,
                   Diagnostics& diagnostics, const std::string& source) {
  json.enter();
  while (json.next_item()) {
    read_event(json, file, diagnostics, source);
    if (options.progress && !options.progress(json.offset())) {
      return fail(ErrorCode::kCancelled, "reading was cancelled", source);
    }
  }
  return {};
}

Status read_file_text(JsonScanner& json, File& file, const ReadOptions& options,
                      Diagnostics& diagnostics, const std::string& source) {
  if (json.peek() == JsonKind::kArray) {
    return read_events(json, file, options, diagnostics, source);
  }
  if (json.peek() != JsonKind::kObject) return {};
  json.enter();
  std::string_view key;
  while (json.next_key(key)) {
    if (key == "traceEvents" && json.peek() == JsonKind::kArray) {
      WEFT_TRY(read_events(json, file, options, diagnostics, source));
    } else {
      json.skip();
    }
  }
  return {};
}

/// A worker while its tracks are put together.
using WorkerKey = std::tuple<std::int32_t, std::int64_t, std::int32_t>;  ///< stage, pid, shard

/// Names tracks that have none, by the rank that their tid encodes: like another track of that
/// rank, else by its place among the ranks of its replica.
void complete_tracks(File& file, Diagnostics& diagnostics, const std::string& source) {
  const auto tracks = static_cast<std::int64_t>(kTracks.size());
  std::map<TrackId, TrackName> by_rank;
  for (const auto& [id, track] : file.tracks) by_rank[{id.first, id.second / tracks}] = track;
  std::map<std::int64_t, std::set<std::int64_t>> ranks_of;  // by pid
  std::set<TrackId> nameless;
  for (const RawEvent& event : file.events) {
    ranks_of[event.pid].insert(event.tid / tracks);
    if (!file.tracks.contains({event.pid, event.tid})) nameless.insert({event.pid, event.tid});
  }
  if (nameless.empty()) return;
  diagnostics.add(kNoTrackNames, source, static_cast<std::int64_t>(nameless.size()));
  for (const TrackId& id : nameless) {
    TrackName& track = file.tracks[id];
    const std::set<std::int64_t>& ranks = ranks_of[id.first];
    const std::int64_t rank = id.second / tracks;
    const auto named = by_rank.find({id.first, rank});
    if (named != by_rank.end()) {
      track = named->second;
    } else {
      track.stage = static_cast<std::int32_t>(std::distance(ranks.begin(), ranks.find(rank)));
    }
    track.text = kTracks[static_cast<std::size_t>(id.second % tracks)];
  }
}

/// Global ranks as the tids encode them; counted in order of the workers if they do not.
std::map<WorkerKey, std::int32_t> number_workers(const File& file) {
  std::map<WorkerKey, std::int32_t> numbers;
  std::set<std::int32_t> used;
  bool encoded = true;
  for (const RawEvent& event : file.events) {
    const TrackName& track = file.tracks.at({event.pid, event.tid});
    const auto rank = static_cast<std::int32_t>(event.tid / std::ssize(kTracks));
    const auto [it, is_new] = numbers.try_emplace({track.stage, event.pid, track.shard}, rank);
    encoded &= is_new ? used.insert(rank).second : it->second == rank;
  }
  std::int32_t next = 0;
  if (!encoded) {
    for (auto& [key, rank] : numbers) rank = next++;
  }
  return numbers;
}

void mark_steps(RankTrace& rank) {
  std::map<std::int32_t, std::pair<Nanos, Nanos>> span;
  for (std::size_t i = 0; i < rank.events.size(); ++i) {
    const Nanos start = rank.events.start[i], end = rank.events.end(i);
    const auto [it, is_new] = span.try_emplace(rank.phases[i].step, start, end);
    it->second.first = std::min(it->second.first, start);
    it->second.second = std::max(it->second.second, end);
  }
  for (const auto& [number, time] : span) {
    rank.steps.push_back({number, 0, time.first, time.second});
  }
  std::stable_sort(rank.steps.begin(), rank.steps.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start < b.start; });
}

std::vector<RankTrace> split_workers(const File& file, const std::string& source) {
  const auto numbers = number_workers(file);
  std::map<std::int32_t, RankTrace> by_rank;
  std::map<TrackId, std::uint32_t> lanes;
  std::int32_t stride = 0;
  for (const auto& [key, number] : numbers) {
    RankTrace& rank = by_rank[number];
    rank.file = source;
    rank.format = "straggler";
    rank.rank = number;
    std::tie(rank.stage, rank.process, rank.shard) = key;
    rank.replica = static_cast<std::int32_t>(rank.process);
    stride = std::gcd(stride, number);
  }
  for (const RawEvent& event : file.events) {
    const TrackName& track = file.tracks.at({event.pid, event.tid});
    RankTrace& rank = by_rank[numbers.at({track.stage, event.pid, track.shard})];
    const auto [lane, is_new] = lanes.try_emplace({event.pid, event.tid}, rank.lanes.size());
    if (is_new) rank.lanes.push_back({true, event.pid, event.tid, -1, track.text});
    Events& events = rank.events;
    events.start.push_back(event.start);
    events.duration.push_back(event.duration);
    events.name.push_back(rank.names.intern(file.names.text(event.name)));
    events.lane.push_back(lane->second);
    events.correlation.push_back(0);
    events.detail.push_back(static_cast<std::uint32_t>(rank.phases.size()));
    events.external_id.push_back(-1);
    events.kind.push_back(EventKind::kPhase);
    rank.phases.push_back(event.detail);
  }
  std::vector<RankTrace> ranks;
  for (auto& [number, rank] : by_rank) {
    // Tensor-parallel peers are folded into one row: ranks then come in strides.
    rank.world = static_cast<std::int32_t>(by_rank.size()) * std::max(stride, 1);
    if (by_rank.rbegin()->first >= rank.world) rank.world = -1;
    rank.facts.total_events = static_cast<std::int64_t>(rank.events.size());
    rank.facts.device_events = true;
    mark_steps(rank);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

class StragglerReader final : public Reader {
 public:
  const char* name() const override { return "straggler"; }
  const char* description() const override {
    return "op timelines of pipeline-parallel jobs (ByteDance straggler study, Chrome JSON)";
  }
  int recognise(std::string_view head) const override {
    const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
    return has("\"seq_id\"") && has("\"mb_id\"") && has("\"step\"") ? 95 : 0;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    JsonScanner json(source);
    File file;
    WEFT_TRY(read_file_text(json, file, options, diagnostics, source.name()));
    WEFT_TRY(json.status());
    report_repairs(json, source, diagnostics);
    if ((!json.ok() || source.truncated()) && !file.events.empty()) {
      const std::int32_t broken = file.events.back().detail.step;
      diagnostics.add(kStepCut, source.name() + ": step " + std::to_string(broken));
      std::erase_if(file.events, [&](const RawEvent& e) { return e.detail.step == broken; });
    }
    if (file.events.empty()) {
      return fail(ErrorCode::kBadInput,
                  "no complete step of an op timeline in this file; it needs \"X\" events with "
                  "ts, dur, pid, tid and args.step",
                  source.name(), json.offset());
    }
    complete_tracks(file, diagnostics, source.name());
    return split_workers(file, source.name());
  }
};

}  // namespace

std::unique_ptr<Reader> make_straggler_reader() { return std::make_unique<StragglerReader>(); }

}  // namespace weft::trace
