// SPDX-License-Identifier: Apache-2.0
// The time of a transfer by collective, number of ranks and size. It comes from measured link
// tables; for a collective without a table, from a line fitted to the transfers of the recording
// itself. File format: docs/formats/links.md.
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

/// Measured times of one message size. A time that was not measured is 0.
struct LinkRow {
  Bytes bytes = 0;
  Nanos time = 0;          ///< what predictions use: expected_time(alone, back_to_back)
  Nanos alone = 0;         ///< median over isolated transfers
  Nanos shortest = 0;      ///< minimum over isolated transfers
  Nanos spread = 0;        ///< interquartile range of isolated transfers
  Nanos back_to_back = 0;  ///< per transfer, when each starts as soon as the one before ends
  Nanos two_at_once = 0;   ///< per transfer, when two are always under way at the same time
  std::int64_t calls = 0;  ///< number of isolated transfers that were measured
};

/// Times of messages from one rank to another. Tables hold them because links may differ.
struct LinkPair {
  std::int32_t from = 0, to = 0;
  bool same_host = false;
  std::vector<LinkRow> rows;  ///< by size
};

/// The measured times of one collective in a group of `ranks` ranks. Has at least one row; rows are
/// sorted by size.
struct LinkTable {
  graph::CollectiveKind collective = graph::CollectiveKind::kAllReduce;
  std::int32_t ranks = 0;
  std::string network;
  std::vector<LinkRow> rows;
  /// How and when the table was measured. Empty if the file does not say.
  std::string dtype, backend, library, device, date;
  std::vector<std::string> hosts;  ///< host name of each rank
  std::vector<LinkPair> pairs;     ///< message tables: `rows` holds the medians over these pairs

  /// Linear interpolation between rows. Below the first row: the time of the first row. Beyond the
  /// last row: the time of the last row, scaled in proportion to bytes.
  Nanos time(Bytes bytes) const;
  /// The part of time(bytes) that does not depend on bandwidth: the time of the smallest message.
  Nanos latency() const { return rows.front().time; }
};

/// The collective that files call `name` ("all_reduce", "send_recv" ...); nullopt if no table can
/// be about it.
std::optional<graph::CollectiveKind> link_collective(std::string_view name);
/// The inverse; "" if no table can be about `kind`.
std::string_view link_collective_name(graph::CollectiveKind kind);

/// Parses one table or a list of tables. `name` stands for the file in messages. A malformed table
/// is an Error (kBadInput).
Result<std::vector<LinkTable>> parse_links(std::string_view text, const std::string& name);
Result<std::vector<LinkTable>> read_links(const std::string& path);
/// The tables of all files, in order.
Result<std::vector<LinkTable>> read_links(const std::vector<std::string>& paths);
/// True if the first bytes of the file look like link tables. False for anything but a regular
/// file: a pipe could not be read a second time.
bool is_links(const std::string& path);
/// The tables as JSON. parse_links() reads them back unchanged.
std::string write_links(const std::vector<LinkTable>& tables);

/// The time that a transfer inside a running job takes, from the medians of isolated and of
/// back-to-back transfers.
Nanos expected_time(Nanos alone, Nanos back_to_back);

/// Transfer times for a job: from measured tables if there are any, else from the recording.
class LinkModel {
 public:
  LinkModel() = default;
  /// Fits a line (latency + bytes / bandwidth) to the recorded transfers of each collective kind
  /// and group size. The slope is the median of the slopes between all pairs of sizes (Theil-Sen
  /// estimator). If the sizes are too similar the line goes through the origin. A transfer that
  /// shared the network counts with the time that it would have taken alone. Quadratic in the
  /// number of different sizes.
  LinkModel(std::vector<LinkTable> measured, const graph::Graph& recording);

  struct Estimate {
    Nanos time = 0;
    Nanos latency = 0;      ///< the part that does not shrink with bandwidth
    bool measured = false;  ///< from a table rather than from the recording
  };
  /// nullopt if there is neither a table nor a recorded transfer of this kind and group size.
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
