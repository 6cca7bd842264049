// SPDX-License-Identifier: Apache-2.0
// From what the ranks of `weft calibrate` print while they measure to link tables. The lines are
// described in calibrate/README.md; medians and the like are made here, so that what runs in the
// ranks stays small and knows times only.
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
  /// Where the ranks are.
  struct Progress {
    std::int64_t pass = 0, passes = 0;  ///< over all sizes, from 0; how many there will be at most
    double seconds_left = 0;
    std::string collective;
    Bytes bytes = 0;
  };
  /// Why the ranks gave up, in their own words.
  struct Failure {
    std::string kind;  ///< "missing": their Python lacks something; "usage"; "disagree"
    std::string what;
  };

  /// A line of output. Whether it was one of ours; launchers may put text of their own before it.
  bool take(std::string_view line);

  bool started() const { return !facts_.hosts.empty(); }
  bool ended() const { return ended_; }
  /// Ranks ran here, but rank 0, which tells what is measured, ran under another launcher.
  bool elsewhere() const { return elsewhere_ && !started(); }
  const Progress& progress() const { return progress_; }
  const std::optional<Failure>& failure() const { return failure_; }
  /// Collectives of which the larger sizes would have taken too long, or that these ranks lack.
  const std::vector<std::string>& cut() const { return cut_; }
  const std::vector<std::string>& lacking() const { return lacking_; }
  /// Lines that began as ours and could not be understood.
  int broken_lines() const { return broken_lines_; }

  /// What is known so far, in the order in which it was first measured; without `network` and
  /// `date`. Rows of messages are the middle of the pairs on different hosts, or of all pairs where
  /// there is one host.
  std::vector<LinkTable> tables() const;

 private:
  struct Samples {
    Bytes bytes = 0;
    std::vector<Nanos> alone, back_to_back, two_at_once;
  };
  struct Curve {
    graph::CollectiveKind collective = graph::CollectiveKind::kOther;
    std::int32_t ranks = 0;
    std::int32_t from = -1, to = -1;  ///< of a pair
    std::vector<Samples> samples;
  };

  bool take_start(const JsonValue& event);
  bool take_sample(const JsonValue& event);
  Samples& samples_of(const Curve& key, Bytes bytes);
  static std::vector<LinkRow> rows_of(const Curve& curve);

  LinkTable facts_;
  std::vector<Curve> curves_;
  Progress progress_;
  std::optional<Failure> failure_;
  std::vector<std::string> cut_, lacking_;
  int broken_lines_ = 0;
  bool ended_ = false;
  bool elsewhere_ = false;
};

}  // namespace weft::cost
