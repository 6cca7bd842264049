// SPDX-License-Identifier: Apache-2.0
// Finds the gradient buckets of a data-parallel job and changes them. PyTorch's
// DistributedDataParallel puts gradients into buckets in the order in which they become ready, and
// all-reduces a bucket as soon as all its gradients are ready.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/cost/links.h"
#include "weft/graph/edit.h"
#include "weft/graph/graph.h"
#include "weft/predict/launch_order.h"

namespace weft::predict {

/// For each bucket, the number of gradients that are ready when it is closed. {3, 7} are two
/// buckets: the first three gradients to become ready, and the next four.
using BucketEnds = std::vector<std::size_t>;

/// The gradients of a recorded job, and the all-reduces that carry them. Keeps a reference to the
/// graph.
class GradientBuckets {
 public:
  /// An Error (kUsage) if the recording lacks gradients, their all-reduces or their sizes.
  static Result<GradientBuckets> find(const graph::Graph& graph);

  /// Returns the sizes of the gradients, in the order in which they become ready.
  std::vector<Bytes> gradients() const;
  /// Returns the buckets that were recorded. Two ends are equal if a bucket had to wait for an
  /// earlier bucket, as with find_unused_parameters.
  BucketEnds recorded() const;
  /// Returns the buckets for these limits on their sizes, of which there must be at least one. A
  /// bucket is closed when it reaches its limit. The last limit holds for all further buckets. If
  /// the recorded buckets follow this rule, they are the answer. If there is only one limit, their
  /// first bucket may be smaller, because DDP's default closes it at 1 MiB.
  BucketEnds with_caps(const std::vector<Bytes>& caps) const;

  enum class Keep : std::uint8_t {
    kSame,  ///< a bucket with the same gradients as a recorded bucket stays as it was recorded
    kNone,  ///< all buckets are built anew; tests compare the result with the recording
  };
  /// Returns the edit that replaces the recorded buckets by `ends`. A new bucket is launched behind
  /// its last gradient, like the recorded bucket that ends closest to it. It takes the time that
  /// `links` gives for its size, corrected by how long the recorded buckets with the same gradients
  /// took compared with `links`. An op that waited for a removed bucket waits for the new bucket
  /// that brings the last of its gradients. An Error (kUsage) if `ends` do not fit the gradients,
  /// or if no transfer time is known.
  Result<graph::Edit> replace(const BucketEnds& ends, const cost::LinkModel& links,
                              Keep keep = Keep::kSame) const;

 private:
  struct Member {  ///< the part of a bucket on one rank
    graph::OpId launch, arrival;
  };
  struct Bucket {
    std::uint32_t collective = 0;
    std::size_t end = 0;
    std::map<std::int32_t, Member> members;  ///< by rank
  };
  struct Step {
    std::map<std::int32_t, std::vector<graph::OpId>>
        ready;                    ///< by rank: gradients, in order of time
    std::vector<Bucket> buckets;  ///< in the order of their launches
    bool exact = false;           ///< the sizes show which gradients are in which bucket
  };
  class Replacement;

  explicit GradientBuckets(const graph::Graph& graph) : graph_(&graph), order_(graph) {}
  void find_gradients();
  void find_all_reduces();
  void find_ends(Step& step) const;
  bool ends_from_sizes(Step& step) const;
  Status check() const;
  const Step& pattern() const { return steps_.begin()->second; }

  const graph::Graph* graph_;
  LaunchOrder order_;
  std::map<std::int32_t, Step> steps_;  ///< by step; only steps with gradients and all-reduces
};

}  // namespace weft::predict
