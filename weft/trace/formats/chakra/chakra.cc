// SPDX-License-Identifier: Apache-2.0
// Reads a Chakra file in three steps: decode all nodes, schedule them (schedule.cc), then turn each
// node that does work into one event. All nodes are held in memory, because a node may depend on a
// node that comes later in the file.
#include "weft/trace/formats/chakra/chakra.h"

#include <algorithm>
#include <map>
#include <utility>

#include "weft/base/json/document.h"
#include "weft/trace/formats/chakra/node.h"
#include "weft/trace/formats/proto_stream.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace {
namespace {

using chakra::Node;
using chakra::NodeType;
using chakra::Schedule;

constexpr DiagnosticKind kCutGraph{"cut-file", Severity::kDataLoss,
                                   "the file ends too early; the nodes before the end were used",
                                   "copy it again, or convert it again"};
constexpr DiagnosticKind kDamagedMessage{"damaged-message", Severity::kDataLoss,
                                         "parts that could not be decoded were left out",
                                         "copy the file again, or convert it again"};
constexpr DiagnosticKind kScheduled{
    "chakra-scheduled", Severity::kInfo,
    "the execution graph has no times; every node starts when its dependencies have ended",
    "nothing needs to be done; time spent waiting for other ranks appears in the replay"};
constexpr DiagnosticKind kNoLength{"chakra-communication-without-time", Severity::kWarning,
                                   "communication without a recorded duration was given length 0",
                                   "pass measured transfer times with --links"};
constexpr DiagnosticKind kDangling{"chakra-dangling-dependency", Severity::kWarning,
                                   "dependencies on nodes that are not in the file were dropped",
                                   "convert the trace again"};
constexpr DiagnosticKind kCycle{"chakra-cycle", Severity::kWarning,
                                "dependencies that form a cycle were dropped",
                                "convert the trace again"};
constexpr DiagnosticKind kDuplicate{
    "chakra-duplicate-id", Severity::kWarning,
    "several nodes share an id; dependencies on that id refer to the first of them",
    "convert the trace again"};
constexpr DiagnosticKind kTags{
    "chakra-tags", Severity::kInfo,
    "tags of messages were dropped; sends and receives of two ranks are paired in order",
    "nothing needs to be done, unless a rank receives in a different order than its peer sends"};
constexpr DiagnosticKind kTooLong{"event-without-time", Severity::kDataLoss,
                                  "nodes with an impossible start or duration were left out",
                                  "convert the trace again"};

/// Limit of a start, and of the sum of all durations. With this limit, sums of times in nanoseconds
/// fit into 64 bits.
constexpr std::uint64_t kLatestMicros = 4'000'000'000'000'000;
constexpr std::int64_t kChakraNodesBetweenProgress = 4096;
constexpr std::int32_t kMostRanks = 1 << 24;

std::int32_t to_rank(std::int64_t value) {
  return value >= 0 && value < kMostRanks ? static_cast<std::int32_t>(value) : -1;
}

class FileReading {
 public:
  FileReading(ByteSource& source, const ReadOptions& options, Diagnostics& diagnostics)
      : source_(source), options_(options), diagnostics_(diagnostics), stream_(source) {}

  Result<RankTrace> run() {
    WEFT_TRY(read_nodes());
    const bool any_work =
        std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.is_work(); });
    if (!any_work) {
      return fail(ErrorCode::kBadInput,
                  stream_.cut() ? "the file ends before its first node; copy or convert it again"
                                : "the execution graph contains no work; convert the trace again",
                  source_.name(), stream_.offset());
    }
    plan_ = schedule(nodes_);
    fill();
    report();
    return std::move(trace_);
  }

 private:
  Status read_nodes() {
    std::uint64_t length = 0;
    bool first = true;
    while (stream_.next_length(length)) {
      const std::string_view bytes = stream_.take(length);
      if (!stream_.ok()) break;
      if (std::exchange(first, false)) continue;  // the GlobalMetadata message
      ++trace_.facts.total_events;
      // take() gives nothing for a node that is too long; such a node counts as damaged.
      auto node = bytes.size() == length ? chakra::decode_node(bytes) : std::nullopt;
      if (!node) {
        ++damaged_;
      } else if (node->duration_micros > kLatestMicros - total_micros_ ||
                 node->start_micros > kLatestMicros) {
        ++too_long_;
      } else {
        total_micros_ += node->duration_micros;
        nodes_.push_back(std::move(*node));
      }
      if (options_.progress && trace_.facts.total_events % kChakraNodesBetweenProgress == 0 &&
          !options_.progress(stream_.offset())) {
        return fail(ErrorCode::kCancelled, "interrupted", source_.name());
      }
    }
    return stream_.status();
  }

  void fill() {
    trace_.file = source_.name();
    trace_.format = "chakra";
    trace_.rank = rank_from_name(source_.name());
    trace_.epoch = plan_.epoch;
    if (!stream_.ok()) trace_.cut_at = stream_.offset();
    // As in ASTRA-sim, a send does not wait until its receiver is ready.
    trace_.buffered_sends = true;
    trace_.facts.device_events = true;
    trace_.facts.collective_args = true;
    for (const Node& node : nodes_) {
      if (node.type == NodeType::kMetadata) add_groups(node.values);
    }
    find_launchers();
    event_of_.assign(nodes_.size(), kNone);
    // Create all events before any dependency, because a dependency may name a node that comes
    // later in the file.
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].is_work()) add_event(i);
    }
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].is_work()) continue;
      for (const std::uint32_t before : plan_.follows[i]) {
        trace_.dependencies.push_back({event_of_[before], event_of_[i]});
      }
    }
  }

  /// The format has no launches. Device work can start only after all host nodes that it depends
  /// on. So the host node that ends last is taken as its launch.
  void find_launchers() {
    correlation_.assign(nodes_.size(), 0);
    const auto end = [&](std::uint32_t i) {
      return plan_.start[i] + static_cast<Nanos>(nodes_[i].duration_micros) * kMicrosecond;
    };
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].on_host || !nodes_[i].is_work()) continue;
      std::uint32_t launcher = kNone;
      for (const std::uint32_t before : plan_.follows[i]) {
        if (!nodes_[before].on_host) continue;
        if (launcher == kNone || end(before) > end(launcher)) launcher = before;
      }
      if (launcher == kNone) continue;
      // A launch and its device work share a correlation id. 0 means none, so 1 is added.
      correlation_[launcher] = launcher + 1;
      correlation_[i] = launcher + 1;
    }
  }

  void add_event(std::uint32_t i) {
    const Node& node = nodes_[i];
    const auto [kind, detail] = describe(i);
    event_of_[i] = static_cast<std::uint32_t>(trace_.events.size());
    trace_.events.add(kind, plan_.start[i], static_cast<Nanos>(node.duration_micros) * kMicrosecond,
                      trace_.names.intern(node.name), lane_of(node), correlation_[i], detail);
  }

  std::pair<EventKind, std::uint32_t> describe(std::uint32_t i) {
    const Node& node = nodes_[i];
    if (node.on_host) {
      return {correlation_[i] != 0 ? EventKind::kRuntime : EventKind::kHostOp, kNone};
    }
    if (node.type == NodeType::kMemoryLoad || node.type == NodeType::kMemoryStore) {
      if (node.tensor_size <= 0) return {EventKind::kMemcpy, kNone};
      trace_.copies.push_back({node.tensor_size});
      return {EventKind::kMemcpy, static_cast<std::uint32_t>(trace_.copies.size() - 1)};
    }
    if (!node.is_communication()) return {EventKind::kKernel, kNone};
    without_length_ += node.duration_micros == 0 ? 1 : 0;
    tagged_ += node.tag != 0 ? 1 : 0;
    KernelDetail kernel;
    kernel.collective = add_collective(node);
    trace_.kernels.push_back(kernel);
    return {EventKind::kKernel, static_cast<std::uint32_t>(trace_.kernels.size() - 1)};
  }

  std::uint32_t add_collective(const Node& node) {
    CollectiveDetail detail;
    // A file without pg_name has one group that contains all ranks.
    detail.group = trace_.names.intern(node.group.empty() ? "default" : node.group);
    if (node.comm_size >= 0) {
      // comm_size is in bytes and the element type is unknown, so the elements are bytes.
      detail.dtype = trace_.names.intern("Byte");
      detail.in_elements = detail.out_elements = node.comm_size;
    }
    if (node.type == NodeType::kCollective) {
      detail.name = trace_.names.intern(to_text(chakra::kind_of_comm_type(node.comm_type)));
      const auto group = group_sizes_.find(node.group);
      if (group != group_sizes_.end()) detail.group_size = group->second;
    } else {
      detail.name = trace_.names.intern(node.type == NodeType::kSend ? "send" : "recv");
      detail.src = node.type == NodeType::kSend ? trace_.rank : to_rank(node.source);
      detail.dst = node.type == NodeType::kSend ? to_rank(node.destination) : trace_.rank;
    }
    trace_.collectives.push_back(detail);
    return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
  }

  std::uint32_t lane_of(const Node& node) {
    const std::int64_t row = chakra::row_of(node);
    const auto next = static_cast<std::uint32_t>(trace_.lanes.size());
    const auto [found, fresh] = lanes_.try_emplace({node.on_host, row}, next);
    if (fresh) trace_.lanes.push_back({!node.on_host, 0, row, node.on_host ? -1 : 0, {}});
    return found->second;
  }

  /// In files from PyTorch one metadata node lists the process groups. Its value is a list that
  /// contains one string, and the string is itself a JSON list. So this function searches for the
  /// inner brackets.
  void add_groups(std::string_view values) {
    const std::size_t open = values.find('[', 1);
    const std::size_t close = values.rfind(']', values.size() < 2 ? 0 : values.size() - 2);
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
    const auto list = parse_json(values.substr(open, close - open + 1), source_.name());
    if (!list) return;
    for (const JsonValue& item : list->items) {
      const JsonValue* name = item.find("pg_name");
      const JsonValue* ranks = item.find("ranks");
      if (name == nullptr || ranks == nullptr) continue;
      ProcessGroup group;
      group.name = name->text;
      for (const JsonValue& rank : ranks->items) {
        group.ranks.push_back(to_rank(rank.as_int().value_or(-1)));
      }
      if (!group.ranks.empty()) {
        group_sizes_[group.name] = static_cast<std::int32_t>(group.ranks.size());
      }
      trace_.groups.push_back(std::move(group));
    }
  }

  void report() {
    const std::string& file = source_.name();
    if (stream_.cut() || stream_.broken()) {
      diagnostics_.add(kCutGraph, file + ": byte " + std::to_string(stream_.offset()));
    }
    const auto add = [&](const DiagnosticKind& kind, std::int64_t count) {
      if (count > 0) diagnostics_.add(kind, file, count);
    };
    add(kDamagedMessage, damaged_);
    add(kTooLong, too_long_);
    add(kScheduled, plan_.computed ? 1 : 0);
    add(kNoLength, without_length_);
    add(kDangling, plan_.dangling);
    add(kCycle, plan_.broken_cycles);
    add(kDuplicate, plan_.duplicate_ids);
    add(kTags, tagged_);
  }

  ByteSource& source_;
  const ReadOptions& options_;
  Diagnostics& diagnostics_;
  ProtoStream stream_;
  std::vector<Node> nodes_;
  Schedule plan_;
  RankTrace trace_;
  std::vector<std::uint32_t> event_of_;     ///< event index of each node
  std::vector<std::uint32_t> correlation_;  ///< correlation id of each node; 0 for none
  std::map<std::pair<bool, std::int64_t>, std::uint32_t> lanes_;
  std::map<std::string, std::int32_t> group_sizes_;
  std::uint64_t total_micros_ = 0;
  std::int64_t damaged_ = 0, too_long_ = 0, without_length_ = 0, tagged_ = 0;
};

class ChakraReader final : public Reader {
 public:
  const char* name() const override { return "chakra"; }
  const char* description() const override {
    return "Chakra execution traces (protobuf, NAME.RANK.et), as ASTRA-sim reads them";
  }

  /// The format has no magic number. So the first message must be valid metadata and the second one
  /// a node with a name. If only the metadata fits into `head`, the result is less certain.
  int recognise(std::string_view head) const override {
    const auto source = memory_source(head, "");
    ProtoStream stream(*source);
    std::uint64_t length = 0;
    if (!stream.next_length(length) || length > head.size()) return 0;
    const std::string_view metadata = stream.take(length);
    if (!stream.ok() || !chakra::is_global_metadata(metadata)) return 0;
    if (!stream.next_length(length) || length == 0) return 0;
    if (length > head.size()) return metadata.empty() ? 0 : 60;  // the node is longer than the head
    const std::string_view bytes = stream.take(length);
    if (!stream.ok()) return metadata.empty() ? 0 : 60;
    const auto node = chakra::decode_node(bytes);
    return node && !node->name.empty() ? 90 : 0;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    WEFT_ASSIGN(RankTrace trace, FileReading(source, options, diagnostics).run());
    std::vector<RankTrace> traces;
    traces.push_back(std::move(trace));
    return traces;
  }
};

}  // namespace

std::unique_ptr<Reader> make_chakra_reader() { return std::make_unique<ChakraReader>(); }

}  // namespace weft::trace
