// SPDX-License-Identifier: Apache-2.0
// What a transfer costs, by collective, number of ranks and size: measured tables, or, where there
// are none, a line fitted to the transfers of the recording itself. Format: docs/formats/links.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/graph/graph.h"

namespace weft::cost {

struct LinkRow {
  Bytes bytes = 0;
  Nanos time = 0;  ///< median of isolated transfers, or the sustained time if that is longer
};

/// One measured curve. Rows by size, at least one.
struct LinkTable {
  graph::CollectiveKind collective = graph::CollectiveKind::kAllReduce;
  std::int32_t ranks = 0;
  std::string network;
  std::vector<LinkRow> rows;

  /// Between rows in a straight line, below the first row its time, beyond the last in proportion
  /// to bytes.
  Nanos time(Bytes bytes) const;
  /// What would remain of time(bytes) on infinitely fast wires: the time of the smallest message.
  Nanos latency() const { return rows.front().time; }
};

/// A file holds one table or a list of them.
Result<std::vector<LinkTable>> parse_links(std::string_view text, const std::string& name);
Result<std::vector<LinkTable>> read_links(const std::string& path);

/// Transfer times for a job: measured tables first, then the recording.
class LinkModel {
 public:
  LinkModel() = default;
  /// Fits a line (latency + bytes / bandwidth) to the recorded transfers of each collective kind
  /// and group size, by least absolute deviations on the pairwise slopes (Theil-Sen).
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
