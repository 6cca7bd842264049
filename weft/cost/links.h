// SPDX-License-Identifier: Apache-2.0
// The time of a transfer, given its collective, number of ranks and size, and how sure that time
// is. It comes from measured link tables and from the transfers of the recording. The file format
// of tables is in docs/formats/links.md.
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
  Nanos time = 0;          ///< the time that predictions use: expected_time(alone, back_to_back)
  Nanos alone = 0;         ///< median over isolated transfers
  Nanos shortest = 0;      ///< minimum over isolated transfers
  Nanos spread = 0;        ///< interquartile range of isolated transfers
  Nanos back_to_back = 0;  ///< time per transfer if each transfer starts when the one before ends
  /// Time per transfer if two transfers are always under way at the same time.
  Nanos two_at_once = 0;
  std::int64_t calls = 0;  ///< number of isolated transfers that were measured
};

/// Times of messages from one rank to another. Tables keep them per pair, because links may differ.
struct LinkPair {
  std::int32_t from = 0, to = 0;
  bool same_host = false;
  std::vector<LinkRow> rows;  ///< sorted by size
};

/// The measured times of one collective in a group of `ranks` ranks. A table has at least one row.
/// Its rows are sorted by size.
struct LinkTable {
  graph::CollectiveKind collective = graph::CollectiveKind::kAllReduce;
  std::int32_t ranks = 0;
  std::string network;
  std::vector<LinkRow> rows;
  /// How and when the table was measured. Empty if the file does not say.
  std::string dtype, backend, library, device, date;
  std::vector<std::string> hosts;  ///< host name of each rank
  /// Only in message tables, where `rows` holds the medians over these pairs.
  std::vector<LinkPair> pairs;

  /// The time of a transfer of this size. Between two rows it is interpolated linearly. For a
  /// smaller size than the first row, it is the time of the first row. For a larger size than the
  /// last row, it is the time of the last row, scaled in proportion to bytes.
  Nanos time(Bytes bytes) const;
  /// The part of time(bytes) that does not depend on bandwidth: the time of the smallest message.
  Nanos latency() const { return rows.front().time; }
};

/// Returns the collective that table files call `name` ("all_reduce", "send_recv" ...), or nullopt
/// if there are no tables for it.
std::optional<graph::CollectiveKind> link_collective(std::string_view name);
/// Returns the name of a collective in table files, or "" if there are no tables for it.
std::string_view link_collective_name(graph::CollectiveKind kind);

/// Parses one table or a list of tables. Messages call the file `name`. A malformed table is an
/// Error (kBadInput).
Result<std::vector<LinkTable>> parse_links(std::string_view text, const std::string& name);
Result<std::vector<LinkTable>> read_links(const std::string& path);
/// Reads the tables of all files, in the order of `paths`.
Result<std::vector<LinkTable>> read_links(const std::vector<std::string>& paths);
/// True if the first bytes of the file look like link tables. Always false for anything except a
/// regular file, because this function could not give back what it reads from a pipe.
bool is_links(const std::string& path);
/// Writes the tables as JSON. parse_links() reads the same tables from this JSON.
std::string write_links(const std::vector<LinkTable>& tables);

/// Estimates the time of a transfer inside a running job. `alone` is the median time of isolated
/// transfers. `back_to_back` is the median time per transfer if transfers follow each other at
/// once.
Nanos expected_time(Nanos alone, Nanos back_to_back);

/// Transfer times for a job. A link table gives their shape, and the recorded transfers move its
/// level (link_model.cc says how far). Without a table the times come from the recording alone.
class LinkModel {
 public:
  LinkModel() = default;
  /// Compares the tables with the recorded transfers. Also fits a line (latency + bytes /
  /// bandwidth) to the recorded transfers of each collective kind and group size. The slope is the
  /// median of the slopes between all pairs of sizes (Theil-Sen estimator). If the sizes are too
  /// similar, the line goes through the origin. For a transfer that shared the network, the time
  /// counts that the transfer would have taken alone. Quadratic in the number of different sizes.
  LinkModel(std::vector<LinkTable> measured, const graph::Graph& recording);

  struct Estimate {
    Nanos time = 0;
    Nanos latency = 0;      ///< the part of the time that does not depend on bandwidth
    bool measured = false;  ///< true: from a table; false: from the recording
    /// Relative standard error of the time. Transfers of one job have this error together, because
    /// it is an error of the speed of the network.
    double error = 0;
    /// At least `time`. The transfer may take this long if it is smaller than all transfers for
    /// which there is evidence, because its latency is unknown. In other cases equal to `time`.
    Nanos longest = 0;
  };
  /// Estimates the time of a transfer. Returns nullopt if there is neither a table nor a recorded
  /// transfer of this kind and group size.
  std::optional<Estimate> transfer(graph::CollectiveKind kind, std::int32_t ranks,
                                   Bytes bytes) const;
  bool has_table(graph::CollectiveKind kind, std::int32_t ranks) const;
  /// Of the tables of this kind, finds the one whose number of ranks has the smallest ratio to
  /// `ranks`. Returns its number of ranks, or nullopt if there is no table of this kind.
  std::optional<std::int32_t> nearest_table(graph::CollectiveKind kind, std::int32_t ranks) const;
  /// Returns the size of the smallest transfer for which there is evidence, or -1 if there is none.
  Bytes smallest_known(graph::CollectiveKind kind, std::int32_t ranks) const;

 private:
  struct Sample {
    Bytes bytes;
    double time;
  };
  struct Line {
    graph::CollectiveKind kind = graph::CollectiveKind::kOther;
    std::int32_t ranks = 0;
    double latency_ns = 0, ns_per_byte = 0;
    Bytes smallest = 0, largest = 0;  ///< the sizes of the recorded transfers
    double time_of_smallest = 0;
    double error = 0;  ///< standard deviation of log(recorded time / time of the line)
  };
  struct Level {  ///< how the network of the job compares with the network of a table
    graph::CollectiveKind kind = graph::CollectiveKind::kOther;
    std::int32_t ranks = 0;
    double factor = 1;  ///< times of the table are multiplied by this
    double error = 0;   ///< relative standard error of the factor
  };
  static Line fit(graph::CollectiveKind kind, std::int32_t ranks,
                  const std::vector<Sample>& samples);
  static Level compare(const LinkTable& table, const std::vector<Sample>& samples);
  const LinkTable* table(graph::CollectiveKind kind, std::int32_t ranks) const;
  const Line* line(graph::CollectiveKind kind, std::int32_t ranks) const;
  Level level_of(const LinkTable& table) const;

  std::vector<LinkTable> tables_;
  std::vector<Line> lines_;
  std::vector<Level> levels_;
};

}  // namespace weft::cost
