// SPDX-License-Identifier: Apache-2.0
// Writes a timeline as columns of integers. A column stores differences between neighbouring values
// instead of the values. Neighbours in a column are similar, so most differences fit in one byte,
// and many are equal. gzip compresses such bytes well: a span takes 3 to 6 bytes in the page. The
// header comes first in the file but is written last, because it contains the sizes of the columns.
#include "weft/report/timeline/pack.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "weft/base/check.h"
#include "weft/base/json/writer.h"
#include "weft/base/sink.h"
#include "weft/report/timeline/base64.h"

namespace weft::report {
namespace {

/// A column of variable-length integers (LEB128): 7 bits per byte, low bits first; the top bit of a
/// byte says that more bytes follow.
class Column {
 public:
  void add(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
    ++count_;
  }
  /// Zigzag encoding: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... , so that small negative numbers take
  /// few bytes too.
  void add_signed(std::int64_t value) {
    add((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  std::uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::uint64_t count_ = 0;
};

/// Returns the difference between each value and the previous value.
class Delta {
 public:
  std::int64_t operator()(std::int64_t value) { return value - std::exchange(last_, value); }

 private:
  std::int64_t last_ = 0;
};

using NamedColumns = std::vector<std::pair<const char*, Column>>;

/// The labels in descending order of their number of spans. So the 128 most frequent labels have
/// numbers that fit in one byte.
std::vector<std::uint32_t> labels_by_use(const Timeline& timeline) {
  std::vector<std::size_t> uses(timeline.labels.size());
  for (const std::uint32_t label : timeline.spans.label) ++uses[label];
  std::vector<std::uint32_t> order(timeline.labels.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return uses[a] > uses[b]; });
  return order;
}

/// Adds the columns `row.*` and `span.*`. A gap is the time from the end of the previous span to
/// the start of this one. It can be negative only at the first span of a row, because spans of a
/// row do not overlap. `span.more` and `span.pause` are left out if no spans were merged.
void add_span_columns(const Timeline& timeline, const std::vector<std::uint32_t>& label_order,
                      NamedColumns& columns) {
  std::vector<std::uint32_t> place(label_order.size());
  for (std::uint32_t i = 0; i < label_order.size(); ++i) place[label_order[i]] = i;
  const TimelineSpans& spans = timeline.spans;
  Column lane, spans_in_row, gap, duration, label, step, count, pause;
  bool thinned = false;
  Delta step_delta;
  for (const TimelineRow& row : timeline.rows) {
    lane.add(row.lane);
    spans_in_row.add(row.last - row.first);
    Nanos last_end = 0;
    for (std::uint32_t i = row.first; i < row.last; ++i) {
      gap.add_signed(spans.start[i] - last_end);
      last_end = spans.end(i);
      duration.add(static_cast<std::uint64_t>(spans.duration[i]));
      label.add(place[spans.label[i]]);
      step.add_signed(step_delta(spans.step[i]));
      count.add(spans.count[i] - 1);
      pause.add(static_cast<std::uint64_t>(spans.duration[i] - spans.busy[i]));
      thinned = thinned || spans.count[i] > 1;
    }
  }
  columns.emplace_back("row.lane", std::move(lane));
  columns.emplace_back("row.spans", std::move(spans_in_row));
  columns.emplace_back("span.gap", std::move(gap));
  columns.emplace_back("span.duration", std::move(duration));
  columns.emplace_back("span.label", std::move(label));
  columns.emplace_back("span.step", std::move(step));
  if (!thinned) return;
  columns.emplace_back("span.more", std::move(count));
  columns.emplace_back("span.pause", std::move(pause));
}

/// Adds the columns `launch.*`. Launches are sorted by their work, so the differences in the two
/// columns are small.
void add_launch_columns(const Timeline& timeline, NamedColumns& columns) {
  Column call, work;
  Delta call_delta, work_delta;
  for (const TimelineLaunch& launch : timeline.launches) {
    call.add_signed(call_delta(launch.call));
    work.add_signed(work_delta(launch.work));
  }
  columns.emplace_back("launch.call", std::move(call));
  columns.emplace_back("launch.work", std::move(work));
}

/// Adds the columns `collective.*` and `member.*`. Most collectives have the same few kinds and
/// groups, so these columns have indices into `texts`.
void add_collective_columns(const Timeline& timeline, Interner& texts, NamedColumns& columns) {
  Column kind, group, bytes, sequence, arrival, transfer, members, member;
  Delta arrival_delta, member_delta;
  for (const TimelineCollective& collective : timeline.collectives) {
    kind.add(texts.intern(collective.kind));
    group.add(texts.intern(collective.group));
    bytes.add_signed(collective.bytes);
    sequence.add_signed(collective.sequence);
    arrival.add_signed(arrival_delta(collective.last_arrival));
    transfer.add_signed(collective.end - collective.last_arrival);
    members.add(collective.members.size());
    for (const std::uint32_t span : collective.members) member.add_signed(member_delta(span));
  }
  columns.emplace_back("collective.kind", std::move(kind));
  columns.emplace_back("collective.group", std::move(group));
  columns.emplace_back("collective.bytes", std::move(bytes));
  columns.emplace_back("collective.sequence", std::move(sequence));
  columns.emplace_back("collective.arrival", std::move(arrival));
  columns.emplace_back("collective.transfer", std::move(transfer));
  columns.emplace_back("collective.members", std::move(members));
  columns.emplace_back("member.span", std::move(member));
}

/// Adds the columns `path.*`. The gap before a piece is never negative (see add_path()), except
/// before the first piece.
void add_path_columns(const Timeline& timeline, NamedColumns& columns) {
  const auto or_minus_one = [](std::uint32_t id) {
    return id == kNoSpan ? -1 : static_cast<std::int64_t>(id);
  };
  Column span, lane, gap, duration, cause;
  Nanos last_end = 0;
  for (const TimelinePathPiece& piece : timeline.path) {
    span.add_signed(or_minus_one(piece.span));
    lane.add_signed(or_minus_one(piece.lane));
    gap.add_signed(piece.start - last_end);
    last_end = piece.end;
    duration.add(static_cast<std::uint64_t>(piece.end - piece.start));
    cause.add(static_cast<std::uint64_t>(piece.cause));
  }
  columns.emplace_back("path.span", std::move(span));
  columns.emplace_back("path.lane", std::move(lane));
  columns.emplace_back("path.gap", std::move(gap));
  columns.emplace_back("path.duration", std::move(duration));
  columns.emplace_back("path.cause", std::move(cause));
}

const char* group_name(RowGroup group) {
  constexpr const char* kNames[] = {"stream", "track", "ranges", "host"};
  return kNames[static_cast<std::size_t>(group)];
}

std::string header(const Timeline& timeline, const std::vector<std::uint32_t>& label_order,
                   const Interner& texts, const NamedColumns& columns) {
  JsonWriter w;
  w.begin_object().field("version", 1).field("recorded_spans", timeline.recorded_spans);
  w.key("classes").begin_array();
  for (std::size_t c = 0; c < kSpanClasses; ++c) {
    w.value(span_class_name(static_cast<SpanClass>(c)));
  }
  w.end_array().key("causes").begin_array();
  for (std::size_t c = 0; c < diagnose::kCauses; ++c) {
    w.value(diagnose::cause_name(static_cast<diagnose::Cause>(c)));
  }
  w.end_array().key("labels").begin_array();
  for (const std::uint32_t label : label_order) {
    w.value(timeline.names.text(timeline.labels[label].name));
    w.value(static_cast<int>(timeline.labels[label].span_class));
  }
  w.end_array().key("texts").begin_array();
  for (NameId id = 0; id < texts.size(); ++id) w.value(texts.text(id));
  w.end_array().key("ranks").begin_array();
  for (const TimelineRank& rank : timeline.ranks) {
    w.begin_object().field("rank", rank.rank).field("place", std::string_view(rank.place));
    w.field("like", rank.like).end_object();
  }
  w.end_array().key("lanes").begin_array();
  for (const TimelineLane& lane : timeline.lanes) {
    w.begin_object().field("rank", lane.rank).field("group", group_name(lane.group));
    w.field("device", lane.device).field("name", std::string_view(lane.name)).end_object();
  }
  w.end_array().key("steps").begin_array();
  for (const TimelineStep& step : timeline.steps) {
    w.begin_object().field("number", step.number).field("start", step.start);
    w.field("end", step.end).end_object();
  }
  w.end_array().key("columns").begin_array();
  for (const auto& [name, column] : columns) {
    w.begin_object().field("name", name).field("count", column.count());
    w.field("bytes", column.bytes().size()).end_object();
  }
  w.end_array().end_object();
  return w.take();
}

}  // namespace

std::string timeline_bytes(const Timeline& timeline) {
  const std::vector<std::uint32_t> label_order = labels_by_use(timeline);
  NamedColumns columns;
  Interner texts;
  add_span_columns(timeline, label_order, columns);
  add_launch_columns(timeline, columns);
  add_collective_columns(timeline, texts, columns);
  add_path_columns(timeline, columns);
  const std::string head = header(timeline, label_order, texts, columns);
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>(head.size() >> shift));
  }
  bytes += head;
  for (const auto& [name, column] : columns) bytes += column.bytes();
  return bytes;
}

std::string pack_timeline(const Timeline& timeline) {
  std::string packed;
  const std::unique_ptr<ByteSink> sink = gzip_sink(memory_sink(packed));
  // A sink in memory never fails, so an error here would be a bug.
  WEFT_CHECK(sink->write(timeline_bytes(timeline)));
  WEFT_CHECK(sink->close());
  return to_base64(packed);
}

}  // namespace weft::report
