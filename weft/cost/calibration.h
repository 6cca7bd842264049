// SPDX-License-Identifier: Apache-2.0
// Turns the lines that the ranks of `weft calibrate` print while they measure into link tables.
// calibrate/README.md describes the lines. Medians and other statistics are computed here, so that
// the program that runs on the ranks stays small and only reports times.
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
  /// What the ranks measured last.
  struct Progress {
    std::int64_t pass = 0;    ///< current pass over all sizes, counted from 0
    std::int64_t passes = 0;  ///< upper limit on the number of passes
    double seconds_left = 0;
    std::string collective;
    Bytes bytes = 0;
  };
  /// The error that the ranks reported before they stopped.
  struct Failure {
    std::string kind;  ///< "missing" (their Python lacks a package), "usage" or "disagree"
    std::string what;  ///< the message, as the ranks worded it
  };

  /// Reads one line of output. Returns true if it is a calibration line. A launcher may have put
  /// text of its own before it on the same line.
  bool take(std::string_view line);

  bool started() const { return !facts_.hosts.empty(); }
  bool ended() const { return ended_; }
  /// True if ranks ran here but rank 0, which reports all measurements, ran under another launcher.
  bool elsewhere() const { return elsewhere_ && !started(); }
  const Progress& progress() const { return progress_; }
  const std::optional<Failure>& failure() const { return failure_; }
  /// Collectives whose larger sizes were skipped because they would have taken too long.
  const std::vector<std::string>& cut() const { return cut_; }
  /// Collectives that the backend of these ranks does not offer.
  const std::vector<std::string>& lacking() const { return lacking_; }
  /// Number of calibration lines that could not be understood.
  int broken_lines() const { return broken_lines_; }

  /// The tables measured so far, in the order in which they were first measured. `network` and
  /// `date` are left empty. The rows of a message table are medians over the pairs of ranks on
  /// different hosts, or over all pairs if all ranks share one host.
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
