// SPDX-License-Identifier: Apache-2.0
// Reads a timeline in this order. read_file_text() reads all events of the file. name_tracks()
// decides stage and shard of every track. number_workers() numbers the workers. split_workers()
// moves the events into one RankTrace per worker. The order is fixed because track names are at the
// end of the file.
#include "weft/trace/formats/straggler/reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "weft/base/decimal.h"
#include "weft/base/json/scanner.h"
#include "weft/trace/formats/json_repairs.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kStepCut{"timeline-step-cut", Severity::kDataLoss,
                                  "the timeline ends inside a step; that step was left out",
                                  "copy or export the file again"};
constexpr DiagnosticKind kBadEvent{
    "timeline-bad-event", Severity::kDataLoss,
    "events without a usable time, process, track or step were left out",
    "export the timeline again; every event needs ts, dur, pid, tid and args.step"};
constexpr DiagnosticKind kNoTrackNames{
    "timeline-track-names-missing", Severity::kWarning,
    "tracks have no 'PP rank N, TP rank M' name; stages were numbered in the order of the ranks "
    "of a replica",
    "keep the metadata events at the end of the file"};

constexpr std::array<std::string_view, 5> kTracks = {"compute", "pp-comm", "tp-comm", "dp-comm",
                                                     "misc"};
/// Limits of starts and durations; sums and differences of valid times then fit into 64 bits.
constexpr Nanos kLatest = 2'000'000'000 * kSecond;
constexpr Nanos kLongest = 1'000'000'000 * kSecond;
constexpr std::int64_t kEventsBetweenProgress = 4096;
constexpr std::int64_t kMostIds = 1 << 24;

struct RawEvent {
  Nanos start = -1;
  Nanos duration = -1;
  NameId name = 0;
  std::uint32_t track = kNone;  ///< index into File::tracks
  PhaseDetail detail;
};

/// What the name of a track says.
struct TrackName {
  std::int32_t stage = 0;
  std::int32_t shard = 0;
  std::string text;
};

using TrackId = std::pair<std::int64_t, std::int64_t>;  ///< pid, tid

/// A track that has events.
struct Track {
  TrackId id;
  TrackName name;
  std::int32_t rank = 0;  ///< global rank that the tid encodes
};

struct File {
  Interner names;
  std::vector<RawEvent> events;
  std::vector<Track> tracks;  ///< in order of their first event
  std::map<TrackId, std::uint32_t> track_index;
  std::map<TrackId, TrackName> track_names;  ///< from the metadata events
  std::int64_t entries = 0;
  std::string name, label, phase;  ///< texts of the current event; kept to reuse the memory
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

/// Parses a name such as "PP rank 1, TP rank 0, dp-comm".
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

/// Reads an integer from 0 to 2^31 - 1. Returns -1 for any other value, including null.
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

bool usable(const RawEvent& event, const TrackId& id) {
  const auto [pid, tid] = id;
  return event.start >= 0 && event.start <= kLatest && event.duration >= 0 &&
         event.duration <= kLongest && pid >= 0 && pid < kMostIds && tid >= 0 && tid < kMostIds &&
         event.detail.step >= 0;
}

/// Returns the index of a track. The track is added at its first event. The rank follows from the
/// tid, which is 5 * rank + number of the track.
std::uint32_t track_of(File& file, const TrackId& id) {
  // Successive events are mostly of the same track, so try the last one before the map.
  if (!file.events.empty() && file.tracks[file.events.back().track].id == id) {
    return file.events.back().track;
  }
  const auto next = static_cast<std::uint32_t>(file.tracks.size());
  const auto [it, is_new] = file.track_index.try_emplace(id, next);
  if (is_new) {
    const auto tracks = static_cast<std::int64_t>(kTracks.size());
    file.tracks.push_back({id, {}, static_cast<std::int32_t>(id.second / tracks)});
  }
  return it->second;
}

/// Reads one entry: an "X" event, a metadata event with the name of a track, or something else.
void read_event(JsonScanner& json, File& file, Diagnostics& diagnostics,
                const std::string& source) {
  if (json.peek() != JsonKind::kObject) return json.skip();
  const std::int64_t at = json.offset();
  json.enter();
  RawEvent event;
  TrackId id{-1, -1};
  std::string& name = file.name;
  std::string& label = file.label;
  std::string& phase = file.phase;
  name.clear();
  label.clear();
  phase.clear();
  std::string_view key;
  while (json.next_key(key)) {
    if (key == "name") {
      name = json.string();
    } else if (key == "ph") {
      phase = json.string();
    } else if (key == "pid") {
      id.first = parse_int(json.number()).value_or(-1);
    } else if (key == "tid") {
      id.second = parse_int(json.number()).value_or(-1);
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
  if (!json.ok()) return;  // the event is incomplete
  ++file.entries;
  if (phase == "M" && name == "thread_name") {
    if (auto track = parse_track(label)) file.track_names[id] = std::move(*track);
  } else if (phase == "X") {
    if (usable(event, id)) {
      event.name = file.names.intern(name);
      event.track = track_of(file, id);
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
    const bool tell = options.progress && file.entries % kEventsBetweenProgress == 1;
    if (tell && !options.progress(json.offset())) {
      return fail(ErrorCode::kCancelled, "interrupted", source);
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

/// Gives every track a stage and a shard. A track without a name takes the stage and shard of
/// another track whose tid encodes the same rank. If there is no such track, its stage is the
/// position of its rank among the ranks of its replica.
void name_tracks(File& file, Diagnostics& diagnostics, const std::string& source) {
  std::map<std::pair<std::int64_t, std::int32_t>, TrackName> by_rank;  // pid, rank
  std::map<std::int64_t, std::set<std::int32_t>> ranks_of;             // pid -> ranks
  std::vector<Track*> nameless;
  for (Track& track : file.tracks) {
    ranks_of[track.id.first].insert(track.rank);
    const auto named = file.track_names.find(track.id);
    if (named == file.track_names.end()) {
      nameless.push_back(&track);
    } else {
      track.name = named->second;
      by_rank.insert({{track.id.first, track.rank}, track.name});
    }
  }
  if (nameless.empty()) return;
  diagnostics.add(kNoTrackNames, source, static_cast<std::int64_t>(nameless.size()));
  for (Track* track : nameless) {
    const auto named = by_rank.find({track->id.first, track->rank});
    if (named != by_rank.end()) {
      track->name = named->second;
    } else {
      const std::set<std::int32_t>& ranks = ranks_of[track->id.first];
      const auto stage = std::distance(ranks.begin(), ranks.find(track->rank));
      track->name.stage = static_cast<std::int32_t>(stage);
    }
    track->name.text = kTracks[static_cast<std::size_t>(track->id.second) % kTracks.size()];
  }
}

using WorkerKey = std::tuple<std::int32_t, std::int64_t, std::int32_t>;  ///< stage, pid, shard

WorkerKey worker_of(const Track& track) {
  return {track.name.stage, track.id.first, track.name.shard};
}

/// Takes the global ranks that the tids encode. If these ranks contradict the track names (one
/// worker with two ranks, or one rank for two workers), numbers the workers in order of stage,
/// replica and shard.
std::map<WorkerKey, std::int32_t> number_workers(const std::vector<Track>& tracks) {
  std::map<WorkerKey, std::int32_t> numbers;
  std::set<std::int32_t> used;
  bool encoded = true;
  for (const Track& track : tracks) {
    const auto [it, is_new] = numbers.try_emplace(worker_of(track), track.rank);
    encoded &= is_new ? used.insert(track.rank).second : it->second == track.rank;
  }
  std::int32_t next = 0;
  if (!encoded) {
    for (auto& [key, rank] : numbers) rank = next++;
  }
  return numbers;
}

/// Marks the steps of a rank. A step lasts from the first start to the last end of its events.
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

void add_event(RankTrace& rank, std::uint32_t lane, std::string_view name, const RawEvent& event) {
  rank.events.add(EventKind::kPhase, event.start, event.duration, rank.names.intern(name), lane, 0,
                  static_cast<std::uint32_t>(rank.phases.size()));
  rank.phases.push_back(event.detail);
}

/// Makes one RankTrace per worker, with one lane per track.
std::vector<RankTrace> split_workers(const File& file, const std::string& source) {
  const auto numbers = number_workers(file.tracks);
  std::map<std::int32_t, RankTrace> by_rank;
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
  struct Place {
    RankTrace* rank;
    std::uint32_t lane;
  };
  std::vector<Place> places;
  for (const Track& track : file.tracks) {
    RankTrace& rank = by_rank[numbers.at(worker_of(track))];
    places.push_back({&rank, static_cast<std::uint32_t>(rank.lanes.size())});
    rank.lanes.push_back({true, track.id.first, track.id.second, -1, track.name.text});
  }
  for (const RawEvent& event : file.events) {
    const Place& place = places[event.track];
    add_event(*place.rank, place.lane, file.names.text(event.name), event);
  }
  std::vector<RankTrace> ranks;
  for (auto& [number, rank] : by_rank) {
    if (rank.events.size() == 0) continue;  // all of its events were in the step that was cut
    // A file may contain only one of several tensor-parallel ranks. Then the rank numbers in the
    // file have a common stride (such as 0, 4, 8), and the world size is this stride times the
    // number of workers.
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
    // These arguments occur together in no other format.
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
                  "this file has no complete step of an op timeline; it needs \"X\" events with "
                  "ts, dur, pid, tid and args.step",
                  source.name(), json.offset());
    }
    name_tracks(file, diagnostics, source.name());
    return split_workers(file, source.name());
  }
};

}  // namespace

std::unique_ptr<Reader> make_straggler_reader() { return std::make_unique<StragglerReader>(); }

}  // namespace weft::trace
