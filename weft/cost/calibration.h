// SPDX-License-Identifier: Apache-2.0
// Turns the output of the ranks of `weft calibrate` into link tables. The ranks print lines while
// they measure. calibrate/README.md describes these lines. The program on the ranks stays small: it
// only reports times. This file computes medians and other statistics from them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json/document.h"
#include "weft/cost/links.h"

namespace weft::cost {

class Calibration {
 public:
  /// The measurement that the ranks reported last.
  struct Progress {
    std::int64_t pass = 0;    ///< current pass over all sizes, counted from 0
    std::int64_t passes = 0;  ///< upper limit on the number of passes
    double seconds_left = 0;
    std::string collective;
    Bytes bytes = 0;
  };
  /// The error that the ranks reported before they stopped measuring.
  struct Failure {
    std::string kind;  ///< "missing" (their Python lacks a package), "usage" or "disagree"
    std::string what;  ///< the message in the words of the ranks
  };

  /// Reads one line of output. Returns true if it is a calibration line. A launcher may have put
  /// its own text before the calibration text on the same line.
  bool take(std::string_view line);

  bool started() const { return !facts_.hosts.empty(); }
  bool ended() const { return ended_; }
  /// True if ranks ran under this launcher but rank 0 did not. Rank 0 reports all measurements.
  bool elsewhere() const { return elsewhere_ && !started(); }
  const Progress& progress() const { return progress_; }
  const std::optional<Failure>& failure() const { return failure_; }
  /// Names of collectives whose larger sizes were skipped because they would have taken too long.
  const std::vector<std::string>& cut() const { return cut_; }
  /// Names of collectives that the backend of these ranks does not have.
  const std::vector<std::string>& lacking() const { return lacking_; }
  /// Number of calibration lines that could not be understood.
  int broken_lines() const { return broken_lines_; }

  /// Returns the tables measured so far. They are sorted by the time of their first measurement.
  /// The fields `network` and `date` are empty. In a message table, each row is a median over pairs
  /// of ranks. If there are pairs on different hosts, only these pairs count. If all ranks share
  /// one host, all pairs count.
  std::vector<LinkTable> tables() const;

 private:
  struct Samples {
    Bytes bytes = 0;
    std::vector<Nanos> alone, back_to_back, two_at_once;
  };
  struct Curve {
    graph::CollectiveKind collective = graph::CollectiveKind::kOther;
    std::int32_t ranks = 0;
    std::int32_t from = -1, to = -1;  ///< the two ranks of a message; -1 for a collective
    std::vector<Samples> samples;
  };

  bool take_start(const JsonValue& event);
  bool take_sample(const JsonValue& event);
  Samples& samples_of(const Curve& key, Bytes bytes);
  static std::vector<LinkRow> rows_of(const Curve& curve);

  LinkTable facts_;  ///< what all tables share: hosts, backend, library, device, dtype
  std::vector<Curve> curves_;
  Progress progress_;
  std::optional<Failure> failure_;
  std::vector<std::string> cut_, lacking_;
  int broken_lines_ = 0;
  bool ended_ = false;
  bool elsewhere_ = false;
};

}  // namespace weft::cost
