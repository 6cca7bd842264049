// SPDX-License-Identifier: Apache-2.0
// Reads an execution trace in one pass: every node is gathered as a RawNode, because its keys come
// in any order, and then reduced to an ExecutionNode. Only the nodes called record_param_comms
// describe collectives. The three schemas spell the same facts differently: 1.0.1 has "id",
// "parent" and bare lists of inputs; 1.0.2-chakra has "ctrl_deps", objects of inputs, and
// attributes in a list; 1.1.0 also has attributes for the arguments of collectives.
#include "weft/trace/formats/execution_trace/execution_trace.h"

#include <algorithm>
#include <limits>
#include <set>

#include "weft/base/decimal.h"
#include "weft/base/json/document.h"
#include "weft/base/json/scanner.h"
#include "weft/trace/formats/execution_trace/tensor_text.h"
#include "weft/trace/formats/json_repairs.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace {
namespace {

constexpr DiagnosticKind kBroken{"damaged-json", Severity::kDataLoss,
                                 "the text stops being JSON; the nodes before that were used",
                                 "copy the file again"};

constexpr std::int64_t kNodesBetweenProgress = 1024;

// One node as the file spells it. The texts are valid until the scanner's release().
struct RawNode {
  ExecutionNode node;
  std::string_view name;
  std::string_view inputs, input_types, outputs;
  // Only schema 1.1.0 has attributes for the following arguments of collectives.
  std::string_view collective, dtype, group;
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int64_t group_size = -1;
};

std::int32_t narrow(std::int64_t value) {
  const bool fits = value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
  return fits ? static_cast<std::int32_t>(value) : -1;
}

std::int64_t read_int(JsonScanner& scanner, std::int64_t missing) {
  return parse_int(scanner.number_or_string()).value_or(missing);
}

// Since schema 1.0.2: {"values": [...], "shapes": [...], "types": [...]}. Before: only the list of
// values.
void read_tensors(JsonScanner& scanner, std::string_view& values, std::string_view* types) {
  if (scanner.peek() != JsonKind::kObject) {
    values = scanner.raw();
    return;
  }
  scanner.enter();
  std::string_view key;
  while (scanner.next_key(key)) {
    if (key == "values") {
      values = scanner.raw();
    } else if (key == "types" && types != nullptr) {
      *types = scanner.raw();
    } else {
      scanner.skip();
    }
  }
}

void read_named(JsonScanner& scanner, std::string_view key, RawNode& raw);

// Attributes have the form [{"name": "rf_id", "type": "uint64", "value": 3}, ...].
void read_attributes(JsonScanner& scanner, RawNode& raw) {
  if (scanner.peek() != JsonKind::kArray) return scanner.skip();
  scanner.enter();
  while (scanner.next_item()) {
    if (scanner.peek() != JsonKind::kObject) {
      scanner.skip();
      continue;
    }
    scanner.enter();
    std::string_view key;
    std::string_view name;
    while (scanner.next_key(key)) {
      if (key == "name") {
        name = scanner.string();
      } else if (key == "value") {
        read_named(scanner, name, raw);
      } else {
        scanner.skip();
      }
    }
  }
}

void read_named(JsonScanner& scanner, std::string_view key, RawNode& raw) {
  ExecutionNode& node = raw.node;
  if (key == "rf_id") {
    node.function = read_int(scanner, -1);
  } else if (key == "seq_id") {
    node.sequence = read_int(scanner, -1);
  } else if (key == "tid") {
    node.thread = read_int(scanner, 0);
  } else if (key == "fw_tid") {
    node.fwd_thread = read_int(scanner, 0);
  } else if (key == "collective_name") {
    raw.collective = scanner.string();
  } else if (key == "dtype") {
    raw.dtype = scanner.string();
  } else if (key == "pg_name") {
    raw.group = scanner.number_or_string();
  } else if (key == "in_msg_nelems") {
    raw.in_elements = read_int(scanner, -1);
  } else if (key == "out_msg_nelems") {
    raw.out_elements = read_int(scanner, -1);
  } else if (key == "pg_size") {
    raw.group_size = read_int(scanner, -1);
  } else {
    scanner.skip();
  }
}

/// Reads the members of one node. Keys that are not listed here go to read_named(), because in
/// schema 1.0.1 the attributes are keys of the node itself. Returns false if the text ends or stops
/// being JSON inside the node.
bool read_node(JsonScanner& scanner, RawNode& raw) {
  std::string_view key;
  while (scanner.next_key(key)) {
    if (key == "name") {
      raw.name = scanner.string();
    } else if (key == "id") {
      raw.node.id = read_int(scanner, 0);
    } else if (key == "parent" || key == "ctrl_deps") {
      raw.node.parent = read_int(scanner, 0);
    } else if (key == "inputs") {
      read_tensors(scanner, raw.inputs, &raw.input_types);
    } else if (key == "input_types") {
      raw.input_types = scanner.raw();
    } else if (key == "outputs") {
      read_tensors(scanner, raw.outputs, nullptr);
    } else if (key == "attrs") {
      read_attributes(scanner, raw);
    } else {
      read_named(scanner, key, raw);
    }
  }
  return scanner.ok();
}

// The arguments of record_param_comms have positions but no names: tensors, sequence number, group,
// rank or peer, name of the collective, splits ..., group size. A "wait" has no tensors, so the
// positions are counted from the name, the first string in the list.
struct Arguments {
  std::string name;
  std::string group;    ///< empty if the file gives an address instead of a name
  std::string address;  ///< address of the group object in the process, if there is no name
  std::int64_t sequence = -1;
  std::int64_t group_size = -1;
};

Arguments read_arguments(std::string_view inputs) {
  Arguments found;
  const auto list = parse_json(inputs, "");
  if (!list) return found;
  const auto& items = list->items;
  const auto named =
      std::find_if(items.begin(), items.end(), [](const JsonValue& v) { return v.is_string(); });
  if (named == items.end()) return found;
  found.name = named->text;
  found.group_size = items.back().as_int().value_or(-1);
  if (named - items.begin() >= 3) {
    found.sequence = (named - 3)->as_int().value_or(-1);
    // Since 1.0.2 the group is a pair such as ["0", "default_pg"]. Before that, it is the address
    // of the group object. The address differs from rank to rank, so ranks cannot be compared by
    // it.
    const JsonValue& group = *(named - 2);
    found.address = group.text;
    if (group.is_array() && !group.items.empty()) found.group = group.items.front().text;
  }
  return found;
}

class Reading {
 public:
  Reading(ByteSource& source, const ReadOptions& options)
      : source_(source), options_(options), scanner_(source) {}

  Result<ExecutionTrace> run(Diagnostics& diagnostics) {
    read_file();
    if (cancelled_) return fail(ErrorCode::kCancelled, "interrupted", source_.name());
    WEFT_TRY(scanner_.status());
    if (trace_.nodes.empty()) {
      return fail(ErrorCode::kBadInput,
                  scanner_.cut() ? "the file ends before its first node; copy it again"
                                 : "this execution trace contains no nodes; record it again",
                  source_.name(), scanner_.offset());
    }
    report_repairs(scanner_, source_, diagnostics);
    if (scanner_.broken()) {
      diagnostics.add(kBroken, source_.name() + ": byte " + std::to_string(scanner_.offset()));
    }
    trace_.file = source_.name();
    trace_.rank = rank_from_name(source_.name());
    // Sequence numbers count within a group. If several groups have no name, equal numbers may be
    // different collectives. So the numbers of these groups are dropped.
    if (addresses_.size() > 1) {
      for (CollectiveDetail& detail : trace_.collectives) {
        if (detail.group == 0) detail.sequence = -1;
      }
    }
    std::stable_sort(trace_.nodes.begin(), trace_.nodes.end(),
                     [](const ExecutionNode& a, const ExecutionNode& b) { return a.id < b.id; });
    return std::move(trace_);
  }

 private:
  void read_file() {
    if (scanner_.peek() != JsonKind::kObject) return;
    scanner_.enter();
    std::string_view key;
    while (!cancelled_ && scanner_.next_key(key)) {
      if (key == "schema") {
        trace_.schema = scanner_.number_or_string();
      } else if (key == "pid") {
        trace_.process = read_int(scanner_, -1);
      } else if (key == "nodes" && scanner_.peek() == JsonKind::kArray) {
        read_nodes();
      } else {
        scanner_.skip();
      }
    }
  }

  void read_nodes() {
    scanner_.enter();
    while (!cancelled_ && scanner_.next_item()) {
      if (scanner_.peek() != JsonKind::kObject) {
        scanner_.skip();
        continue;
      }
      scanner_.enter();
      scanner_.hold();
      RawNode raw;
      if (read_node(scanner_, raw)) keep(raw);
      scanner_.release();
      if (options_.progress && trace_.nodes.size() % kNodesBetweenProgress == 0) {
        cancelled_ = !options_.progress(scanner_.offset());
      }
    }
  }

  void keep(RawNode& raw) {
    const TensorSum in = sum_tensors(raw.inputs);
    const TensorSum out = sum_tensors(raw.outputs);
    raw.node.name = trace_.names.intern(raw.name);
    raw.node.input_bytes = in.bytes;
    raw.node.output_bytes = out.bytes;
    if (raw.name == "record_param_comms") keep_collective(raw, in, out);
    trace_.nodes.push_back(raw.node);
  }

  /// The attributes of schema 1.1.0 have priority. Older schemas have the same facts only in the
  /// arguments and in the tensors themselves.
  void keep_collective(RawNode& raw, const TensorSum& in, const TensorSum& out) {
    const Arguments arguments = read_arguments(raw.inputs);
    CollectiveDetail detail;
    detail.name = trace_.names.intern(raw.collective.empty() ? arguments.name : raw.collective);
    detail.group = trace_.names.intern(raw.group.empty() ? arguments.group : raw.group);
    detail.group_size = narrow(raw.group_size < 0 ? arguments.group_size : raw.group_size);
    detail.sequence = arguments.sequence;
    // Groups of one rank do not communicate, so their numbers cannot be confused with others.
    if (detail.group == 0 && detail.group_size > 1) addresses_.insert(arguments.address);
    detail.in_elements =
        raw.in_elements >= 0 ? raw.in_elements : (in.tensors > 0 ? in.elements : -1);
    detail.out_elements =
        raw.out_elements >= 0 ? raw.out_elements : (out.tensors > 0 ? out.elements : -1);
    detail.dtype =
        trace_.names.intern(raw.dtype.empty() ? tensor_dtype(raw.input_types) : raw.dtype);
    trace_.collectives.push_back(detail);
    raw.node.collective = static_cast<std::uint32_t>(trace_.collectives.size() - 1);
  }

  ByteSource& source_;
  const ReadOptions& options_;
  JsonScanner scanner_;
  ExecutionTrace trace_;
  std::set<std::string> addresses_;  ///< one per group without a name
  bool cancelled_ = false;
};

}  // namespace

int recognise_execution_trace(std::string_view head) {
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  const std::size_t start =
      head.find_first_not_of("\xef\xbb\xbf \n\r\t");  // byte order mark, blanks
  if (start == std::string_view::npos || head[start] != '{') return 0;
  if (!has("\"schema\"") || !has("\"nodes\"")) return 0;
  return has("\"rf_id\"") || has("\"ctrl_deps\"") || has("\"fw_parent\"") ? 98 : 40;
}

Result<ExecutionTrace> read_execution_trace(ByteSource& source, const ReadOptions& options,
                                            Diagnostics& diagnostics) {
  return Reading(source, options).run(diagnostics);
}

}  // namespace weft::trace
