// SPDX-License-Identifier: Apache-2.0
// Builds Tracks in this order: the critical path, the ranks, the arrows between their spans, the
// memory curves. An arrow refers to the spans of its events, so the spans of all ranks are laid out
// before the arrows are added.
#include "weft/report/exports/tracks.h"

#include <algorithm>
#include <array>

#include "weft/base/parallel.h"
#include "weft/report/exports/event_facts.h"
#include "weft/report/exports/tracks_builder.h"
#include "weft/report/exports/tracks_path.h"
#include "weft/sim/memory.h"
#include "weft/trace/match/calls.h"

namespace weft::report {
namespace {

using trace::EventKind;

/// The ids of all argument keys. Viewers show the texts of these keys.
struct Keys {
  explicit Keys(TracksBuilder& out)
      : step(out.key("step")),
        correlation(out.key("correlation")),
        bytes(out.key("bytes")),
        shapes(out.key("input dims")),
        grid(out.key("grid / block")),
        collective(out.key("collective")),
        group(out.key("group")),
        group_size(out.key("group size")),
        sequence(out.key("sequence")),
        micro_batch(out.key("micro-batch")),
        chunk(out.key("chunk")) {}

  NameId step, correlation, bytes, shapes, grid, collective, group, group_size, sequence,
      micro_batch, chunk;
};

/// Adds one rank as a process: its steps, then its host threads, then its streams.
class RankTracks {
 public:
  RankTracks(const predict::Job& job, std::size_t r, const EventFacts& facts, TracksBuilder& out)
      : job_(job),
        trace_(job.run.ranks[r]),
        facts_(facts),
        out_(out),
        keys_(out),
        names_(trace_.names.size(), kUnknown),
        span_of_(trace_.events.size(), kNotDrawn),
        process_(out.add_process("rank " + std::to_string(trace_.rank))) {}

  /// Returns the index of the span of each event; kNotDrawn if an event has no span.
  std::vector<std::uint32_t> add() {
    add_steps();
    std::vector<std::vector<LaidSpan>> lanes(trace_.lanes.size());
    const trace::Events& events = trace_.events;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      if (events.kind[i] == EventKind::kMemory) continue;  // drawn as the memory curve
      // An annotation encloses the ops that it annotates, even if one op lasts exactly as long.
      const bool outer =
          events.kind[i] == EventKind::kAnnotation || events.kind[i] == EventKind::kGpuAnnotation;
      lanes[events.lane[i]].push_back({events.start[i], events.duration[i], i, outer});
    }
    const std::vector<std::string> names = lane_names(trace_);
    // The first pass adds the host threads, the second pass the streams.
    for (const bool on_device : {false, true}) {
      for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        if (trace_.lanes[lane].on_device != on_device) continue;
        out_.add_lane(process_, !on_device, names[lane], std::move(lanes[lane]),
                      [this](std::uint32_t event) { describe(event); });
      }
    }
    return std::move(span_of_);
  }

 private:
  static constexpr NameId kUnknown = 0xffffffffu;

  /// Adds the steps, with the start and end that the host recorded, as a separate track above the
  /// threads.
  void add_steps() {
    std::vector<LaidSpan> spans;
    for (std::uint32_t i = 0; i < trace_.steps.size(); ++i) {
      const trace::StepMark& mark = trace_.steps[i];
      spans.push_back({mark.start, std::max<Nanos>(0, mark.end - mark.start), i, false});
    }
    const NameId category = out_.category("step");
    out_.add_lane(process_, false, "steps", std::move(spans), [&](std::uint32_t i) {
      const std::int64_t number = trace_.steps[i].number;
      out_.span().name = out_.tracks().names.intern("step " + std::to_string(number));
      out_.span().category = category;
      out_.number(keys_.step, number);
    });
  }

  /// Names the span that was just added for event `i` and adds its arguments.
  void describe(std::uint32_t i) {
    const trace::Events& events = trace_.events;
    span_of_[i] = out_.span_index();
    NameId& name = names_[events.name[i]];
    if (name == kUnknown) name = out_.tracks().names.intern(trace_.names.text(events.name[i]));
    out_.span().name = name;
    out_.span().category = out_.category(kind_name(events.kind[i]));
    if (facts_.step[i] >= 0) out_.number(keys_.step, facts_.step[i]);
    if (events.correlation[i] != 0) out_.number(keys_.correlation, events.correlation[i]);
    if (facts_.match[i] != trace::kNone) {
      describe_match(job_.matches[facts_.match[i]]);
    } else if (const Bytes bytes = bytes_of(trace_, i); bytes >= 0) {
      out_.number(keys_.bytes, bytes);
    }
    describe_detail(events.kind[i], events.detail[i]);
  }

  void describe_match(const trace::Match& match) {
    out_.text(keys_.collective, trace::to_text(match.kind));
    if (!match.group.empty()) out_.text(keys_.group, match.group);
    if (match.group_size >= 0) out_.number(keys_.group_size, match.group_size);
    if (match.sequence >= 0) out_.number(keys_.sequence, match.sequence);
    if (match.bytes >= 0) out_.number(keys_.bytes, match.bytes);
  }

  /// Adds what only some kinds of events have: shapes, launch dimensions, micro-batch and chunk.
  void describe_detail(EventKind kind, std::uint32_t detail) {
    if (kind == EventKind::kHostOp && detail < trace_.host_ops.size()) {
      const NameId shapes = trace_.host_ops[detail].input_dims;
      if (shapes != 0) out_.text(keys_.shapes, trace_.names.text(shapes));
    } else if (kind == EventKind::kKernel && detail < trace_.kernels.size()) {
      const NameId grid = trace_.kernels[detail].shape;
      if (grid != 0) out_.text(keys_.grid, trace_.names.text(grid));
    } else if (kind == EventKind::kPhase && detail < trace_.phases.size()) {
      const trace::PhaseDetail& phase = trace_.phases[detail];
      if (phase.micro_batch >= 0) out_.number(keys_.micro_batch, phase.micro_batch);
      if (phase.chunk >= 0) out_.number(keys_.chunk, phase.chunk);
    }
  }

  const predict::Job& job_;
  const trace::RankTrace& trace_;
  const EventFacts& facts_;
  TracksBuilder& out_;
  Keys keys_;
  std::vector<NameId> names_;  ///< maps name ids of the trace to name ids of Tracks
  std::vector<std::uint32_t> span_of_;
  std::uint32_t process_;
};

/// Adds an arrow from each call to the device work that it launched, and an arrow through the
/// members of each collective.
void add_arrows(const predict::Job& job, const std::vector<EventFacts>& facts,
                const std::vector<std::vector<std::uint32_t>>& span_of, TracksBuilder& out) {
  const NameId launch = out.category("launch");
  for (std::size_t r = 0; r < facts.size(); ++r) {
    const auto& launcher = facts[r].launches.launcher;
    for (std::size_t i = 0; i < launcher.size(); ++i) {
      if (launcher[i] == trace::kNone) continue;
      out.add_arrow(launch, {span_of[r][launcher[i]], span_of[r][i]});
    }
  }
  const NameId collective = out.category("collective");
  for (const trace::Match& match : job.matches) {
    std::vector<std::pair<Nanos, std::uint32_t>> members;  // arrival and span, sorted by arrival
    for (const trace::Member& member : match.members) {
      members.emplace_back(job.run.ranks[member.rank].events.start[member.event],
                           span_of[member.rank][member.event]);
    }
    std::sort(members.begin(), members.end());
    std::vector<std::uint32_t> spans;
    for (const auto& [start, span] : members) spans.push_back(span);
    out.add_arrow(collective, std::move(spans));
  }
}

/// Adds one memory curve per device of each rank. The name of a curve says where its values come
/// from, because an estimate must not look like a measurement.
void add_memory(const predict::Job& job, Nanos zero, std::uint32_t first_rank, Tracks& out) {
  const auto& ranks = job.run.ranks;
  std::vector<std::vector<sim::MemoryCurve>> curves(ranks.size());
  parallel_for(ranks.size(), [&](std::size_t r) { curves[r] = sim::memory_over_time(ranks[r]); });
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const sim::MemoryCurve& curve : curves[r]) {
      Curve& drawn = out.curves.emplace_back();
      drawn.process = first_rank + static_cast<std::uint32_t>(r);
      drawn.name = curve.device < 0 ? std::string("memory of the host")
                                    : "memory of device " + std::to_string(curve.device);
      drawn.name += std::string(" (") + sim::memory_source_name(curve.source) + ")";
      for (const sim::MemoryPoint& point : curve.points) {
        // Times in Tracks are never negative.
        drawn.points.emplace_back(std::max<Nanos>(0, point.time - zero), point.allocated);
      }
    }
  }
}

}  // namespace

Tracks make_tracks(const predict::Job& job, const diagnose::CriticalPath& path) {
  const std::vector<EventFacts> facts = find_event_facts(job);
  const Nanos zero = first_time(job.run);
  TracksBuilder out(zero);
  add_path(job, path, out);
  const auto first_rank = static_cast<std::uint32_t>(out.tracks().processes.size());
  std::vector<std::vector<std::uint32_t>> span_of;
  for (std::size_t r = 0; r < facts.size(); ++r) {
    span_of.push_back(RankTracks(job, r, facts[r], out).add());
  }
  add_arrows(job, facts, span_of, out);
  add_path_arrows(job, path, span_of, out);
  Tracks tracks = out.finish();
  add_memory(job, zero, first_rank, tracks);
  tracks.label = job.run.label;
  tracks.unix_start = job.run.ranks.empty() ? 0 : job.run.ranks.front().epoch + zero;
  return tracks;
}

}  // namespace weft::report
