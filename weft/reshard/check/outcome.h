// SPDX-License-Identifier: Apache-2.0
// Plans a case and checks the plan. An Outcome is what `weft reshard` reports.
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
    kRefused,  ///< the case is invalid or has no plan; `reason` says why
    kWrong,    ///< the plan failed a check: a bug in the planner
  };

  Status status = Status::kRefused;
  std::string reason;
  Link link;             ///< the link that the plan was priced with
  Picos least_time = 0;  ///< lower bound on the time of every plan
  Plan plan;
  std::vector<Round> rounds;
};
std::string_view status_name(Outcome::Status status);

using Planner = std::function<Result<Plan>(const Problem&, const PlannerOptions&)>;

/// Plans a case and replays the plan by box algebra. If the array is small enough, also replays it
/// element by element. If `scale_local` is not 0, prices are computed for a larger or smaller
/// array, whose largest part on any device has `scale_local` bytes.
Outcome plan_and_check(const Case& item, PlannerOptions options, Bytes scale_local,
                       const Planner& planner = make_plan);

/// Checks a plan that exists already.
Outcome check_plan(const Problem& problem, const Link& link, Plan plan);

/// Prices the plan again for a run in which at most `window` bytes are on their way into a device
/// at once, see Link::window.
void set_window(const Problem& problem, Bytes window, Outcome& outcome);

/// The elements received by the busiest device of each step, summed over the steps.
std::int64_t received(const Plan& plan);

/// Writes an object with id, status, reason, itemsize, recv_max, peak, time_us, and steps. For
/// recv_max, peak and time_us, the object also has a lower bound and the gap to it.
void write_outcome(JsonWriter& json, const Case& item, const Outcome& outcome);
/// The load of arrays that move at the same time on shared devices: the sum of joint_loads() over
/// all outcomes that are ok.
struct JointSummary {
  std::int64_t arrays = 0;
  Bytes sent_total = 0, sent_max = 0, received_max = 0;
  Bytes sent_mean = 0;   ///< the mean over devices that send anything
  Bytes sent_apart = 0;  ///< sent_max if senders were chosen for each array separately
};
JointSummary summarize_jointly(const std::vector<Case>& cases,
                               const std::vector<Outcome>& outcomes);
/// Writes an object with the fields of JointSummary.
void write_joint_summary(JsonWriter& json, const JointSummary& together);

/// One line of the file that --plans writes (docs/formats/reshard.md): the id, and rounds of [from,
/// to, box]. If the receiver reduces the box, "add" follows the box. If the target is partial, the
/// line also has `keeps`: for each device, the boxes of its summand that it holds. All other
/// elements of the summand are the neutral element.
std::string plan_line(const Problem& problem, const Outcome& outcome);

}  // namespace weft::reshard
