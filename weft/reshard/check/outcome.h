// SPDX-License-Identifier: Apache-2.0
// A case, planned and checked: what `weft reshard` tells about it.
#pragma once

#include <string>
#include <vector>

#include "weft/base/json/writer.h"
#include "weft/reshard/layout/cases.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard {

struct Outcome {
  enum class Status {
    kOk,
    kRefused,  ///< the case makes no sense; `reason` says why
    kWrong,    ///< the plan does not do what it should; never seen, and a bug if it is
  };

  Status status = Status::kRefused;
  std::string reason;
  Link link;             ///< that it was priced with
  Picos least_time = 0;  ///< what no plan can beat
  Plan plan;
  std::vector<Round> rounds;
};
std::string_view status_name(Outcome::Status status);

using Planner = std::function<Result<Plan>(const Problem&, const PlannerOptions&)>;

/// Plans, replays by box algebra and, where that is affordable, runs it element by element.
/// `scale_local`: prices as if the largest part of the array on any device had that size; 0: as it
/// is.
Outcome plan_and_check(const Case& item, PlannerOptions options, Bytes scale_local,
                       const Planner& planner = make_plan);

/// The same for a plan that is there already.
Outcome check_plan(const Problem& problem, const Link& link, Plan plan);

/// Prices the plan again as it runs within a budget, see Link::window.
void set_window(const Problem& problem, Bytes window, Outcome& outcome);

/// Largest received volume of a device, added up over the steps, in elements.
std::int64_t received(const Plan& plan);

/// An object: id, status, reason, itemsize, recv_max, peak, time_us, each with its bound and the
/// gap to it, and steps.
void write_outcome(JsonWriter& json, const Case& item, const Outcome& outcome);
/// Arrays that share their devices, moved at once: joint_loads() of those that are ok.
struct JointSummary {
  std::int64_t arrays = 0;
  Bytes sent_total = 0, sent_max = 0, received_max = 0;
  Bytes sent_mean = 0;   ///< by a device that sends anything
  Bytes sent_apart = 0;  ///< sent_max, were senders chosen for each array alone
};
JointSummary summarize_jointly(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes);
/// An object with the fields of JointSummary.
void write_joint_summary(JsonWriter& json, const JointSummary& together);

/// One line: id, rounds of [from, to, box] with "add" behind where the receiver reduces; of a
/// partial target also `keeps`, the boxes of its summand that each device holds, the rest being
/// neutral.
std::string plan_line(const Problem& problem, const Outcome& outcome);

}  // namespace weft::reshard
