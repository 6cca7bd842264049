// SPDX-License-Identifier: Apache-2.0
// Parses the text forms of graphs and edits. Labels may be used before they are defined, so there
// are two passes. The first pass reads the lines. It stores the labels of the ops that edges and
// collectives refer to. Then resolve() looks up these labels. Labels are views into the text, so
// they are not copied.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/builder.h"
#include "weft/graph/edit.h"
#include "weft/graph/kind_names.h"
#include "weft/graph/text.h"
#include "weft/graph/text_scan.h"

namespace weft::graph {
namespace {

template <class Kind, std::size_t N>
Result<Kind> parse_kind(const std::array<std::string_view, N>& names, std::string_view text,
                        std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return bad_text(fmt::format("'{}' is not a kind of {}", text, what));
  return static_cast<Kind>(found - names.begin());
}

struct Place {
  int line = 0;
  std::int64_t byte = 0;
};

tl::unexpected<Error> at(const Place& place, const Error& error) {
  return fail(error.code, fmt::format("line {}: {}", place.line, error.message), error.file,
              place.byte);
}

/// Reads lines into a builder. EditParser adds the lines that only edits have.
class Parser {
 public:
  virtual ~Parser() = default;

  Result<Graph> parse(std::string_view text) {
    WEFT_TRY(read(text));
    WEFT_TRY(resolve());
    return finish();
  }

 protected:
  Status read(std::string_view text) {
    std::int64_t byte = 0;
    for (int line = 1; !text.empty(); ++line) {
      const std::size_t length = std::min(text.find('\n'), text.size());
      place_ = {line, byte};
      if (const Status status = parse_line(text.substr(0, length)); !status) {
        return at(place_, status.error());
      }
      const std::size_t used = std::min(length + 1, text.size());
      text.remove_prefix(used);
      byte += static_cast<std::int64_t>(used);
    }
    return {};
  }

  struct PendingEdge {
    std::string_view source;
    OpId destination;
    Edge edge;
    Place place;
  };
  struct PendingCollective {
    Collective collective;
    std::string_view transfer;
    std::vector<std::string_view> arrivals;
    Place place;
  };
  struct PendingMember {
    OpId op;
    std::string_view collective;
    Place place;
  };
  using Labels = std::unordered_map<std::string_view, std::uint32_t>;

  Status parse_line(std::string_view line) {
    Scanner scan(line);
    if (scan.at_end()) return {};
    WEFT_ASSIGN(const std::string_view first, scan.word("a label or keyword"));
    if (scan.accept(':')) {
      WEFT_ASSIGN(const std::string_view kind, scan.word("a kind of op"));
      WEFT_TRY(kind == "collective" ? parse_collective(first, scan) : parse_op(first, kind, scan));
    } else {
      WEFT_TRY(parse_statement(first, scan));
    }
    if (!scan.at_end()) return bad_text("unexpected text at the end of the line");
    return {};
  }

  /// Parses the rest of a line that begins with a keyword.
  virtual Status parse_statement(std::string_view keyword, Scanner& scan) {
    if (keyword == "lane") return parse_lane(scan);
    if (keyword == "step") return parse_step(scan);
    if (keyword == "steps") {
      while (!scan.at_end()) {
        WEFT_ASSIGN(const std::string_view number, scan.word("a step number"));
        WEFT_ASSIGN(const std::int64_t step, parse_integer<std::int64_t>(number, "step"));
        steps_.push_back(step);
      }
      return {};
    }
    return bad_text(
        fmt::format("'{}' is neither a label followed by ':' nor lane, step or steps", keyword));
  }

  Status parse_lane(Scanner& scan) {
    WEFT_ASSIGN(std::string name, scan.text("a lane name"));
    WEFT_ASSIGN(const std::string_view kind_text, scan.word("a kind of lane"));
    WEFT_ASSIGN(const LaneKind kind, parse_kind<LaneKind>(kLaneKindNames, kind_text, "lane"));
    WEFT_ASSIGN(const std::string_view rank_text, scan.word("a rank or -"));
    std::int32_t rank = -1;
    if (rank_text != "-") {
      WEFT_ASSIGN(rank, parse_integer<std::int32_t>(rank_text, "rank"));
    }
    // If two lanes have the same name, only their positions (@0) can refer to them.
    const LaneId id = builder_.add_lane(kind, rank, name);
    const auto [entry, is_new] = lanes_.emplace(std::move(name), id);
    if (!is_new) entry->second = kNoId;
    return {};
  }

  Status parse_step(Scanner& scan) {
    WEFT_ASSIGN(const std::string_view number, scan.word("a step number"));
    if (number == "none") {
      step_ = -1;
      return {};
    }
    WEFT_ASSIGN(step_, parse_integer<std::int32_t>(number, "step"));
    if (step_ < 0) return bad_text("a step number must not be negative");
    if (steps_.empty() || steps_.back() != step_) steps_.push_back(step_);
    return {};
  }

  Result<LaneId> parse_lane_reference(Scanner& scan) {
    if (scan.accept('@')) {
      WEFT_ASSIGN(const std::string_view number, scan.word("a lane's position"));
      WEFT_ASSIGN(const LaneId lane, parse_integer<LaneId>(number, "lane"));
      if (lane >= builder_.draft().lanes.size()) return bad_text(fmt::format("no lane @{}", lane));
      return lane;
    }
    WEFT_ASSIGN(const std::string name, scan.text("a lane"));
    const auto found = lanes_.find(name);
    if (found == lanes_.end()) return bad_text(fmt::format("unknown lane '{}'", name));
    if (found->second == kNoId) return bad_text(fmt::format("several lanes are named '{}'", name));
    return found->second;
  }

  Status parse_op(std::string_view label, std::string_view kind_text, Scanner& scan) {
    OpSpec spec;
    spec.step = step_;
    WEFT_ASSIGN(spec.kind, parse_kind<OpKind>(kOpKindNames, kind_text, "op"));
    WEFT_ASSIGN(spec.lane, parse_lane_reference(scan));
    WEFT_ASSIGN(const std::string_view duration, scan.word("a duration"));
    WEFT_ASSIGN(spec.duration, parse_time(duration));
    if (spec.duration < 0) return bad_text("a duration must not be negative");
    std::string name;
    if (scan.next_is('"')) {
      WEFT_ASSIGN(name, scan.text("a name"));
    }
    spec.name = name;
    const OpId op = static_cast<OpId>(builder_.draft().size());
    bool after = false;
    while (!after && !scan.at_end()) {
      WEFT_ASSIGN(const std::string_view key, scan.word("key=value or after"));
      after = key == "after";
      if (!after) WEFT_TRY(parse_op_attribute(key, scan, op, spec));
    }
    builder_.add_op(spec);
    if (!ops_.emplace(label, op).second)
      return bad_text(fmt::format("label '{}' is used twice", label));
    if (!after) return {};
    do {
      WEFT_TRY(parse_edge(scan, op));
    } while (scan.accept(','));
    return {};
  }

  Status parse_op_attribute(std::string_view key, Scanner& scan, OpId op, OpSpec& spec) {
    if (!scan.accept('=')) {
      return bad_text(fmt::format("'{}' is neither a key=value pair nor 'after'", key));
    }
    WEFT_ASSIGN(const std::string_view value, scan.word("a value"));
    if (key == "bytes") {
      WEFT_ASSIGN(spec.bytes, parse_integer<Bytes>(value, "bytes"));
    } else if (key == "at") {
      WEFT_ASSIGN(spec.recorded_start, parse_time(value));
    } else if (key == "took") {
      WEFT_ASSIGN(spec.recorded_duration, parse_time(value));
    } else if (key == "event") {
      WEFT_ASSIGN(spec.event, parse_integer<std::uint32_t>(value, "event"));
    } else if (key == "host_events") {
      WEFT_ASSIGN(spec.host_events, parse_integer<std::int32_t>(value, "host_events"));
    } else if (key == "of") {
      members_.push_back({op, value, place_});
    } else {
      return bad_text(fmt::format("an op has no attribute '{}'", key));
    }
    return {};
  }

  Status parse_edge(Scanner& scan, OpId destination) {
    PendingEdge pending{{}, destination, {}, place_};
    WEFT_ASSIGN(pending.source, scan.word("the label of an op"));
    if (scan.accept('+')) {
      WEFT_ASSIGN(const std::string_view delay, scan.word("a delay"));
      WEFT_ASSIGN(pending.edge.delay, parse_time(delay));
      if (pending.edge.delay < 0) return bad_text("a delay must not be negative");
    }
    if (scan.accept(':')) {
      WEFT_ASSIGN(const std::string_view kind, scan.word("a kind of edge"));
      WEFT_ASSIGN(pending.edge.kind, parse_kind<EdgeKind>(kEdgeKindNames, kind, "edge"));
    }
    pending.edge.inferred = scan.accept('?');
    edges_.push_back(pending);
    return {};
  }

  Status parse_collective(std::string_view label, Scanner& scan) {
    PendingCollective pending;
    pending.place = place_;
    Collective& c = pending.collective;
    WEFT_ASSIGN(const std::string_view kind, scan.word("a kind of collective"));
    WEFT_ASSIGN(c.kind, parse_kind<CollectiveKind>(kCollectiveKindNames, kind, "collective"));
    while (!scan.at_end()) {
      WEFT_ASSIGN(const std::string_view key, scan.word("key=value"));
      if (!scan.accept('=')) return bad_text(fmt::format("'{}' is not a key=value pair", key));
      if (key == "group") {
        WEFT_ASSIGN(c.group, scan.text("a group"));
        continue;
      }
      WEFT_ASSIGN(const std::string_view value, scan.word("a value"));
      if (key == "ranks") {
        WEFT_ASSIGN(c.ranks, parse_integer<std::int32_t>(value, "ranks"));
      } else if (key == "bytes") {
        WEFT_ASSIGN(c.bytes, parse_integer<Bytes>(value, "bytes"));
      } else if (key == "seq") {
        WEFT_ASSIGN(c.sequence, parse_integer<std::int64_t>(value, "seq"));
      } else if (key == "transfer") {
        pending.transfer = value;
      } else if (key == "arrivals") {
        pending.arrivals.push_back(value);
        while (scan.accept(',')) {
          WEFT_ASSIGN(const std::string_view arrival, scan.word("the label of an op"));
          pending.arrivals.push_back(arrival);
        }
      } else {
        return bad_text(fmt::format("a collective has no attribute '{}'", key));
      }
    }
    const auto index = static_cast<std::uint32_t>(collectives_.size());
    if (!collective_labels_.emplace(label, index).second) {
      return bad_text(fmt::format("label '{}' is used twice", label));
    }
    collectives_.push_back(std::move(pending));
    return {};
  }

  /// Returns the id of a label. In an edit, "o7" or "c3" also stand for the ops and collectives of
  /// the edited graph, of which there are `existing`.
  static Result<std::uint32_t> find(const Labels& labels, std::string_view label,
                                    const Place& place, char letter = 'o',
                                    std::size_t existing = 0) {
    const auto found = labels.find(label);
    if (found != labels.end()) return found->second;
    if (existing > 0 && label.starts_with(letter)) {
      const auto id = parse_integer<std::uint32_t>(label.substr(1), "label");
      if (id && *id < existing) return *id;
    }
    return at(place, Error{ErrorCode::kBadInput, fmt::format("unknown label '{}'", label), {}});
  }
  Result<OpId> find_op(std::string_view label, const Place& place) const {
    return find(ops_, label, place, 'o', existing_ops_);
  }

  Status resolve() {
    for (const PendingEdge& pending : edges_) {
      WEFT_ASSIGN(const OpId source, find_op(pending.source, pending.place));
      in_order_ = in_order_ && source < pending.destination;
      builder_.add_edge(source, pending.destination, pending.edge.kind, pending.edge.delay,
                        pending.edge.inferred);
    }
    for (const PendingMember& member : members_) {
      WEFT_ASSIGN(builder_.draft().ops.collective[member.op],
                  find(collective_labels_, member.collective, member.place));
    }
    for (PendingCollective& pending : collectives_) {
      WEFT_TRY(fill(pending));
      builder_.add_collective(std::move(pending.collective));
    }
    return {};
  }

  /// Looks up the labels of the ops of a collective.
  Status fill(PendingCollective& pending) const {
    if (!pending.transfer.empty()) {
      WEFT_ASSIGN(pending.collective.transfer, find_op(pending.transfer, pending.place));
    }
    for (std::string_view label : pending.arrivals) {
      WEFT_ASSIGN(const OpId arrival, find_op(label, pending.place));
      pending.collective.arrivals.push_back(arrival);
    }
    return {};
  }

  Result<Graph> finish() {
    std::sort(steps_.begin(), steps_.end());
    steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
    builder_.draft().steps = std::move(steps_);
    WEFT_ASSIGN(Graph graph,
                in_order_ ? std::move(builder_).finish_in_order() : std::move(builder_).finish());
    WEFT_TRY(verify(graph));
    return graph;
  }

  GraphBuilder builder_;
  Labels ops_;
  Labels collective_labels_;
  std::unordered_map<std::string, LaneId> lanes_;
  std::vector<PendingEdge> edges_;
  std::vector<PendingCollective> collectives_;
  std::vector<PendingMember> members_;
  std::vector<std::int64_t> steps_;
  std::int32_t step_ = -1;        ///< the step of the last `step` line
  Place place_;                   ///< the place of the current line
  bool in_order_ = true;          ///< every edge so far goes from an earlier line to a later one
  std::size_t existing_ops_ = 0;  ///< ops of the graph that an edit changes
};

/// Reads an edit. The builder starts with the ops of the edited graph, so new ops get the ids that
/// they have in the edit.
class EditParser : private Parser {
 public:
  explicit EditParser(const Graph& graph) : graph_(graph) {
    builder_.draft().lanes = graph.lanes;
    existing_ops_ = graph.size();
    for (LaneId lane = 0; lane < graph.lanes.size(); ++lane) {
      const auto [entry, is_new] = lanes_.emplace(graph.lanes[lane].name, lane);
      if (!is_new) entry->second = kNoId;
    }
    for (OpId op = 0; op < graph.size(); ++op) builder_.add_op({});
  }

  Result<Edit> parse_edit(std::string_view text) {
    WEFT_TRY(read(text));
    const Ops& ops = builder_.draft().ops;
    for (auto op = static_cast<OpId>(graph_.size()); op < ops.size(); ++op) {
      edit_.ops.push_back({ops.kind[op], ops.lane[op], std::string(builder_.draft().name(op)),
                           ops.step[op], ops.duration[op], ops.bytes[op], ops.recorded_start[op]});
    }
    for (const PendingEdge& pending : edges_) {
      WEFT_ASSIGN(const OpId source, find_op(pending.source, pending.place));
      edit_.edges.push_back({source, pending.destination, pending.edge.kind, pending.edge.delay,
                             pending.edge.inferred});
    }
    for (PendingCollective& pending : collectives_) {
      WEFT_TRY(fill(pending));
      edit_.collectives.push_back({kNoId, std::move(pending.collective)});
    }
    for (const auto& [old, label, place] : replacements_) {
      WEFT_ASSIGN(const std::uint32_t index, find(collective_labels_, label, place));
      edit_.collectives[index].replaces = old;
    }
    WEFT_TRY(check(graph_, edit_));
    return std::move(edit_);
  }

 private:
  struct Replacement {
    std::uint32_t old;
    std::string_view label;
    Place place;
  };

  Status parse_statement(std::string_view keyword, Scanner& scan) override {
    if (keyword == "step") return parse_step(scan);
    if (keyword == "replace") return parse_replacement(scan);
    const bool on_edge = keyword == "link" || keyword == "cut" || keyword == "delay";
    if (!on_edge && keyword != "time" && keyword != "remove") {
      return bad_text(
          fmt::format("'{}' is neither a label followed by ':' nor time, delay, "
                      "remove, cut, link, replace or step",
                      keyword));
    }
    WEFT_ASSIGN(const std::string_view label, scan.word("the label of an op"));
    WEFT_ASSIGN(const OpId op, existing(ops_, label, 'o', graph_.size()));
    if (keyword == "remove") {
      edit_.removed_ops.push_back(op);
      return {};
    }
    if (keyword == "time") {
      WEFT_ASSIGN(const std::string_view text, scan.word("a duration"));
      WEFT_ASSIGN(const Nanos duration, parse_time(text));
      edit_.durations.emplace_back(op, duration);
      return {};
    }
    WEFT_ASSIGN(const std::string_view after, scan.word("'after'"));
    if (after != "after") return bad_text(fmt::format("'{}' stands where 'after' belongs", after));
    WEFT_TRY(parse_edge(scan, op));
    if (keyword == "link") return {};
    const PendingEdge named = edges_.back();
    edges_.pop_back();
    WEFT_ASSIGN(const EdgeId edge, find_edge(named));
    if (keyword == "cut") {
      edit_.removed_edges.push_back(edge);
    } else {
      edit_.delays.emplace_back(edge, named.edge.delay);
    }
    return {};
  }

  /// Like find(), but the Error does not name the line. read() adds it to the Error of a statement.
  static Result<std::uint32_t> existing(const Labels& labels, std::string_view label, char letter,
                                        std::size_t count) {
    const auto found = find(labels, label, {}, letter, count);
    if (!found) return bad_text(fmt::format("unknown label '{}'", label));
    return found;
  }

  Status parse_replacement(Scanner& scan) {
    WEFT_ASSIGN(const std::string_view old, scan.word("a collective of the graph"));
    WEFT_ASSIGN(const std::uint32_t index, existing({}, old, 'c', graph_.collectives.size()));
    WEFT_ASSIGN(const std::string_view with, scan.word("'with'"));
    if (with != "with") return bad_text(fmt::format("'{}' stands where 'with' belongs", with));
    WEFT_ASSIGN(const std::string_view label, scan.word("the label of a new collective"));
    replacements_.push_back({index, label, place_});
    return {};
  }

  /// If several edges have the same ends and the same kind, each line takes the next of them.
  Result<EdgeId> find_edge(const PendingEdge& named) {
    WEFT_ASSIGN(const OpId source, existing(ops_, named.source, 'o', graph_.size()));
    const OpId op = named.destination;
    if (op < graph_.size()) {
      for (EdgeId e = graph_.first_edge[op]; e < graph_.first_edge[op + 1]; ++e) {
        const Edge& edge = graph_.edges[e];
        if (edge.source == source && edge.kind == named.edge.kind && used_.insert(e).second)
          return e;
      }
    }
    return bad_text(fmt::format("the graph has no {} edge from {} to o{}",
                                kind_name(named.edge.kind), named.source, op));
  }

  const Graph& graph_;
  Edit edit_;
  std::vector<Replacement> replacements_;
  std::unordered_set<EdgeId> used_;
};

}  // namespace

Result<Graph> parse_text(std::string_view text) { return Parser().parse(text); }

Result<Edit> parse_edit(const Graph& graph, std::string_view text) {
  return EditParser(graph).parse_edit(text);
}

}  // namespace weft::graph
