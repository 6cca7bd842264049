// SPDX-License-Identifier: Apache-2.0
// What a transfer costs, by collective, number of ranks and size: measured tables, or, where there
// are none, a line fitted to the transfers of the recording itself. Format: docs/formats/links.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/graph/graph.h"

namespace weft::cost {

/// Times of one size. Those that were not measured are 0.
struct LinkRow {
  Bytes bytes = 0;
  Nanos time = 0;      ///< median of isolated transfers, or the sustained time if that is longer
  Nanos alone = 0;     ///< median of isolated transfers
  Nanos shortest = 0;  ///< of them
  Nanos spread = 0;    ///< between the quartiles of them
  Nanos back_to_back = 0;  ///< one behind the other, a transfer
  Nanos two_at_once = 0;   ///< likewise with two under way at any time, a transfer
  std::int64_t calls = 0;  ///< isolated transfers behind the median
};

/// Messages between two ranks, for links that are not all alike.
struct LinkPair {
  std::int32_t from = 0, to = 0;
  bool same_host = false;
  std::vector<LinkRow> rows;  ///< by size
};

/// One measured curve. Rows by size, at least one.
struct LinkTable {
  graph::CollectiveKind collective = graph::CollectiveKind::kAllReduce;
  std::int32_t ranks = 0;
  std::string network;
  std::vector<LinkRow> rows;
  /// What was measured, with what and when; empty where the file does not tell.
  std::string dtype, backend, library, device, date;
  std::vector<std::string> hosts;  ///< of each rank
  std::vector<LinkPair> pairs;     ///< what the rows of messages are the middle of

  /// Between rows in a straight line, below the first row its time, beyond the last in proportion
  /// to bytes.
  Nanos time(Bytes bytes) const;
  /// What would remain of time(bytes) on infinitely fast wires: the time of the smallest message.
  Nanos latency() const { return rows.front().time; }
};

/// "all_reduce" and so on, as files spell them; nullopt and "" for what no table is about.
std::optional<graph::CollectiveKind> link_collective(std::string_view name);
std::string_view link_collective_name(graph::CollectiveKind kind);

/// A file holds one table or a list of them.
Result<std::vector<LinkTable>> parse_links(std::string_view text, const std::string& name);
Result<std::vector<LinkTable>> read_links(const std::string& path);
/// The tables of all files, in order.
Result<std::vector<LinkTable>> read_links(const std::vector<std::string>& paths);
/// Whether a file begins as link tables do; false where it cannot be read, or only once.
bool is_links(const std::string& path);
/// The tables as a file, which reads back as the same.
std::string write_links(const std::vector<LinkTable>& tables);

/// What LinkRow::time is, from the other two.
Nanos expected_time(Nanos alone, Nanos back_to_back);

/// Transfer times for a job: measured tables first, then the recording.
class LinkModel {
 public:
  LinkModel() = default;
  /// Fits a line (latency + bytes / bandwidth) to the recorded transfers of each collective kind
  /// and group size, by least absolute deviations on the pairwise slopes (Theil-Sen); through the
  /// origin where sizes are too much alike. Transfers that shared the network count as if alone.
  LinkModel(std::vector<LinkTable> measured, const graph::Graph& recording);

  struct Estimate {
    Nanos time = 0;
    Nanos latency = 0;      ///< the part that does not shrink with bandwidth
    bool measured = false;  ///< from a table rather than from the recording
  };
  /// nullopt: neither a table nor a recorded transfer of this kind and size of group.
  std::optional<Estimate> transfer(graph::CollectiveKind kind, std::int32_t ranks,
                                   Bytes bytes) const;
  bool has_table(graph::CollectiveKind kind, std::int32_t ranks) const;

 private:
  struct Line {
    graph::CollectiveKind kind;
    std::int32_t ranks;
    double latency_ns, ns_per_byte;
  };
  const LinkTable* table(graph::CollectiveKind kind, std::int32_t ranks) const;
  std::vector<LinkTable> tables_;
  std::vector<Line> lines_;
};

}  // namespace weft::cost
