// SPDX-License-Identifier: Apache-2.0
// Builds each table in memory. A table has one vector per column. The vectors are filled row by row
// and then moved into the table, with the name and the description of the column. The csv file has
// its columns in the same order.
#include "weft/report/exports/tables.h"

#include <algorithm>
#include <map>

#include "weft/predict/steps.h"
#include "weft/report/exports/event_facts.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/match/transfer.h"

namespace weft::report {
namespace {

using trace::EventKind;

Column integers(std::string name, std::string meaning, Integers values) {
  return {std::move(name), std::move(meaning), false, std::move(values)};
}
Column optional_integers(std::string name, std::string meaning, Integers values) {
  return {std::move(name), std::move(meaning), true, std::move(values)};
}
Column texts(std::string name, std::string meaning, TextsBuilder& builder) {
  return {std::move(name), std::move(meaning), false, builder.finish()};
}

/// The columns of the table `events`. add_rank() appends one row per event of a rank; every private
/// function appends one value to some of the columns.
struct EventRows {
  Integers rank, start, duration, step, correlation, bytes, allocated, sequence, group_size,
      micro_batch, chunk;
  TextsBuilder lane, kind, name, collective, group;

  void add_rank(const predict::Job& job, std::size_t r, const EventFacts& facts, Nanos zero) {
    const trace::RankTrace& trace = job.run.ranks[r];
    std::vector<std::int32_t> lanes;
    for (const std::string& text : lane_names(trace)) lanes.push_back(lane.code(text));
    // The code of each name, or -1. A code is looked up when the first event uses the name, because
    // a trace also has names that no event uses.
    std::vector<std::int32_t> names(trace.names.size(), -1);
    for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
      const trace::Events& events = trace.events;
      rank.push_back(trace.rank);
      lane.add(lanes[events.lane[i]]);
      kind.add(kind_name(events.kind[i]));
      std::int32_t& code = names[events.name[i]];
      if (code < 0) code = name.code(trace.names.text(events.name[i]));
      name.add(code);
      start.push_back(events.start[i] - zero);
      duration.push_back(events.duration[i]);
      step.push_back(facts.step[i]);
      correlation.push_back(events.correlation[i] == 0 ? kMissing : events.correlation[i]);
      add_details(trace, i);
      add_match(job, facts.match[i], i, trace);
    }
  }

 private:
  void add_details(const trace::RankTrace& trace, std::uint32_t i) {
    const std::uint32_t detail = trace.events.detail[i];
    const EventKind event_kind = trace.events.kind[i];
    const bool is_memory = event_kind == EventKind::kMemory && detail < trace.memory.size();
    allocated.push_back(is_memory ? trace.memory[detail].bytes : 0);
    const bool is_phase = event_kind == EventKind::kPhase && detail < trace.phases.size();
    micro_batch.push_back(is_phase ? trace.phases[detail].micro_batch : kMissing);
    chunk.push_back(is_phase ? trace.phases[detail].chunk : kMissing);
  }

  /// Appends the values that describe communication. For an event without a match these are the
  /// values of an empty Match, in which all numbers are unknown.
  void add_match(const predict::Job& job, std::uint32_t index, std::uint32_t i,
                 const trace::RankTrace& trace) {
    const bool matched = index != trace::kNone;
    const trace::Match none;
    const trace::Match& match = matched ? job.matches[index] : none;
    collective.add(matched ? trace::to_text(match.kind) : "");
    group.add(match.group);
    sequence.push_back(match.sequence);
    group_size.push_back(match.group_size);
    bytes.push_back(matched ? match.bytes : bytes_of(trace, i));
  }
};

/// The step of a collective. Steps end at different times on different ranks, so the members of a
/// collective may be in different steps. The result is the latest of these steps.
std::int32_t step_of(const trace::Match& match, const std::vector<EventFacts>& facts) {
  std::int32_t step = -1;
  for (const trace::Member& member : match.members) {
    step = std::max(step, facts[member.rank].step[member.event]);
  }
  return step;
}

}  // namespace

Table event_table(const predict::Job& job) {
  const std::vector<EventFacts> facts = find_event_facts(job);
  const Nanos zero = first_time(job.run);
  EventRows rows;
  for (std::size_t r = 0; r < facts.size(); ++r) rows.add_rank(job, r, facts[r], zero);
  Table table{"events", {}};
  auto& columns = table.columns;
  columns.push_back(integers("rank", "rank that recorded the event", std::move(rows.rank)));
  columns.push_back(texts("lane", "host thread or device stream", rows.lane));
  columns.push_back(texts("kind", "host_op, runtime, kernel ...", rows.kind));
  columns.push_back(texts("name", "as recorded", rows.name));
  columns.push_back(integers("start_ns", "start on the common clock", std::move(rows.start)));
  columns.push_back(integers("duration_ns", "end minus start", std::move(rows.duration)));
  columns.push_back(optional_integers("step", "the step that issued it", std::move(rows.step)));
  columns.push_back(optional_integers("correlation",
                                      "number that a call and the device work it launched share",
                                      std::move(rows.correlation)));
  columns.push_back(optional_integers("bytes", "bytes moved; for a host op the bytes of all inputs",
                                      std::move(rows.bytes)));
  columns.push_back(integers("allocated_bytes", "change of allocated memory; 0 for other events",
                             std::move(rows.allocated)));
  columns.push_back(texts("collective", "kind of collective or message", rows.collective));
  columns.push_back(texts("group", "process group", rows.group));
  columns.push_back(optional_integers("sequence", "position among the calls of the group",
                                      std::move(rows.sequence)));
  columns.push_back(optional_integers("group_size", "number of members of the group",
                                      std::move(rows.group_size)));
  columns.push_back(optional_integers("micro_batch", "micro-batch; op timelines only",
                                      std::move(rows.micro_batch)));
  columns.push_back(
      optional_integers("chunk", "chunk of the model; op timelines only", std::move(rows.chunk)));
  return table;
}

Table collective_table(const predict::Job& job) {
  const std::vector<EventFacts> facts = find_event_facts(job);
  const Nanos zero = first_time(job.run);
  // The table has one row per member of a collective. Each row repeats the facts of the collective,
  // so that users can filter and group the table without a join.
  Integers collective, sequence, group_size, bytes, step, rank, arrival, end, late_by, skew,
      transfer;
  TextsBuilder kind, group;
  for (std::size_t m = 0; m < job.matches.size(); ++m) {
    const trace::Match& match = job.matches[m];
    std::vector<trace::MemberTimes> members;
    Nanos first = INT64_MAX;
    for (const trace::Member& member : match.members) {
      const trace::Events& events = job.run.ranks[member.rank].events;
      members.push_back({events.start[member.event], events.end(member.event)});
      first = std::min(first, members.back().start);
    }
    if (members.empty()) continue;
    // The transfer starts when the last member arrives and ends when the first member that waited
    // for it ends.
    const trace::Transfer moved = trace::find_transfer(members);
    for (std::size_t i = 0; i < members.size(); ++i) {
      collective.push_back(static_cast<std::int64_t>(m));
      kind.add(trace::to_text(match.kind));
      group.add(match.group);
      sequence.push_back(match.sequence);
      group_size.push_back(match.group_size);
      bytes.push_back(match.bytes);
      step.push_back(step_of(match, facts));
      rank.push_back(job.run.ranks[match.members[i].rank].rank);
      arrival.push_back(members[i].start - zero);
      end.push_back(members[i].end - zero);
      late_by.push_back(members[i].start - first);
      skew.push_back(moved.begins - first);
      transfer.push_back(moved.ends - moved.begins);
    }
  }
  Table table{"collectives", {}};
  auto& columns = table.columns;
  columns.push_back(integers("collective", "number of the collective; the same for all its members",
                             std::move(collective)));
  columns.push_back(texts("kind", "allreduce, sendrecv ...", kind));
  columns.push_back(texts("group", "process group", group));
  columns.push_back(
      optional_integers("sequence", "position among the calls of the group", std::move(sequence)));
  columns.push_back(
      optional_integers("group_size", "number of members, recorded or not", std::move(group_size)));
  columns.push_back(optional_integers("bytes", "bytes of the whole array", std::move(bytes)));
  columns.push_back(optional_integers("step", "the step that issued it", std::move(step)));
  columns.push_back(integers("rank", "rank of the member", std::move(rank)));
  columns.push_back(integers("arrival_ns", "when the member arrives", std::move(arrival)));
  columns.push_back(integers("end_ns", "when the member ends", std::move(end)));
  columns.push_back(
      integers("late_by_ns", "time from the first arrival to this one", std::move(late_by)));
  columns.push_back(
      integers("skew_ns", "time from the first arrival to the last", std::move(skew)));
  columns.push_back(integers("transfer_ns", "duration of the transfer, after the last arrival",
                             std::move(transfer)));
  return table;
}

Table step_table(const predict::Job& job) {
  const predict::StepTimes times = predict::recorded_steps(job.graph);
  // Times of the graph count from its first op. Times of tables count from the first event or step
  // mark. `shift` converts from the graph to the table.
  const Nanos zero = first_time(job.run);
  const Nanos shift = job.graph.origin - zero;
  Integers rank, step, duration, end, host_start, host_end;
  std::map<std::int32_t, const trace::RankTrace*> traces;
  for (const trace::RankTrace& trace : job.run.ranks) traces[trace.rank] = &trace;
  for (std::size_t r = 0; r < times.ranks.size(); ++r) {
    const auto found = traces.find(times.ranks[r]);
    for (std::size_t s = 0; s < times.steps.size(); ++s) {
      // The rank has no work in this step.
      if (times.period[r][s] < 0) continue;
      rank.push_back(times.ranks[r]);
      step.push_back(times.steps[s]);
      duration.push_back(times.period[r][s]);
      end.push_back(times.end[r][s] + shift);
      // The start and the end on the host are missing if the framework did not record its steps.
      host_start.push_back(kMissing);
      host_end.push_back(kMissing);
      if (found == traces.end()) continue;
      for (const trace::StepMark& mark : found->second->steps) {
        if (mark.number != times.steps[s]) continue;
        host_start.back() = mark.start - zero;
        host_end.back() = mark.end - zero;
      }
    }
  }
  Table table{"steps", {}};
  auto& columns = table.columns;
  columns.push_back(integers("rank", "rank that ran the step", std::move(rank)));
  columns.push_back(integers("step", "number of the step", std::move(step)));
  columns.push_back(
      integers("duration_ns", "time since the end of the previous step", std::move(duration)));
  columns.push_back(
      integers("end_ns", "when the last device work of the step ends", std::move(end)));
  columns.push_back(
      optional_integers("host_start_ns", "start as the host marked it", std::move(host_start)));
  columns.push_back(
      optional_integers("host_end_ns", "end as the host marked it", std::move(host_end)));
  return table;
}

const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> kinds = {
      {"events", "one row per event of any rank", event_table},
      {"collectives", "one row per member of a collective or message: arrival, skew, transfer",
       collective_table},
      {"steps", "one row per rank and step", step_table}};
  return kinds;
}

Result<const TableKind*> find_table(std::string_view name) {
  std::string known;
  for (const TableKind& kind : table_kinds()) {
    if (kind.name == name) return &kind;
    known += (known.empty() ? "" : ", ") + kind.name;
  }
  return fail(ErrorCode::kUsage,
              "there is no table '" + std::string(name) + "' (tables: " + known + ")");
}

Result<Table> make_table(const predict::Job& job, std::string_view name) {
  WEFT_ASSIGN(const TableKind* const kind, find_table(name));
  return kind->make(job);
}

}  // namespace weft::report
