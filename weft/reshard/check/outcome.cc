// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/check/outcome.h"

#include "weft/reshard/check/replay.h"
#include "weft/reshard/search/bounds.h"
#include "weft/reshard/search/joint.h"

namespace weft::reshard {
namespace {

void write_box(JsonWriter& json, const Box& box) {
  json.begin_array();
  for (const Interval& side : box) {
    json.begin_array().value(side.low).value(side.high).end_array();
  }
  json.end_array();
}

/// Writes how far a value is above its lower bound, in per cent of the bound. Writes 0 if the value
/// meets the bound. Writes null if the bound is 0 and the value is not, because no percentage
/// exists then.
void write_gap(JsonWriter& json, std::string_view name, std::int64_t value, std::int64_t bound) {
  json.key(name);
  if (value <= bound) {
    json.value(0);
  } else if (bound == 0) {
    json.null();
  } else {
    json.value(100.0 * static_cast<double>(value - bound) / static_cast<double>(bound));
  }
}

double microseconds(Picos time) { return static_cast<double>(time) / 1e6; }

/// Runs the two checks of replay.h (the element-wise check only for small arrays). Then compares
/// the plan's peak with its lower bound.
Status check(const Problem& problem, const Outcome& outcome) {
  const Layout& last = outcome.plan.last(problem);
  WEFT_TRY(replay(problem, outcome.rounds, last));
  if (small_enough(problem)) WEFT_TRY(run_oracle(problem, outcome.rounds, last));
  if (peak_bytes(problem, outcome.plan) > least_peak_bytes(problem)) {
    return fail(ErrorCode::kInfeasible,
                "a part of an intermediate layout is larger than every part of source and target");
  }
  return {};
}

}  // namespace

std::string_view status_name(Outcome::Status status) {
  switch (status) {
    case Outcome::Status::kOk:
      return "ok";
    case Outcome::Status::kRefused:
      return "refused";
    case Outcome::Status::kWrong:
      return "wrong";
  }
  return "";
}

Outcome plan_and_check(const Case& item, PlannerOptions options, Bytes scale_local,
                       const Planner& planner) {
  Outcome outcome;
  if (!item.problem) {
    outcome.reason = item.problem.error().message;
    return outcome;
  }
  const Problem& problem = *item.problem;
  // The scale is stored as a fraction, because a rounded factor would make prices inexact.
  const Bytes largest = least_peak_bytes(problem);
  if (scale_local > 0 && largest > 0) {
    options.link.grow = scale_local;
    options.link.shrink = largest;
  }
  Result<Plan> plan = planner(problem, options);
  if (!plan) {
    outcome.link = options.link;
    outcome.reason = plan.error().message;
    return outcome;
  }
  return check_plan(problem, options.link, std::move(*plan));
}

Outcome check_plan(const Problem& problem, const Link& link, Plan plan) {
  Outcome outcome;
  outcome.link = link;
  outcome.least_time = least_time(problem, link);
  outcome.plan = std::move(plan);
  outcome.rounds = rounds(problem, outcome.plan);
  const Status right = check(problem, outcome);
  outcome.status = right ? Outcome::Status::kOk : Outcome::Status::kWrong;
  if (!right) outcome.reason = right.error().message;
  return outcome;
}

void set_window(const Problem& problem, Bytes window, Outcome& outcome) {
  outcome.link.window = window;
  update_totals(outcome.plan, problem, outcome.link);
}

std::int64_t received(const Plan& plan) {
  std::int64_t sum = 0;
  for (const Step& step : plan.steps) sum += step.traffic.recv_max;
  return sum;
}

void write_outcome(JsonWriter& json, const Case& item, const Outcome& outcome) {
  json.begin_object().field("id", item.id).field("status", status_name(outcome.status));
  json.field("reason", outcome.reason).field("itemsize", item.item_size);
  if (outcome.status != Outcome::Status::kRefused) {
    const Bytes size = item.item_size;
    const Bounds least = bounds(*item.problem);
    const Problem& problem = *item.problem;
    if (problem.cast) {
      json.field("itemsize_from", problem.cast->from_size);
      json.field("itemsize_to", problem.cast->to_size);
    }
    const Bytes peak = peak_bytes(problem, outcome.plan);
    json.field("recv_max", received(outcome.plan) * size);
    json.field("peak", peak);
    json.field("recv_bound", least.recv_max * size);
    json.field("peak_bound", least_peak_bytes(problem));
    json.field("time_us", microseconds(outcome.plan.time));
    json.field("time_bound_us", microseconds(outcome.least_time));
    write_gap(json, "recv_gap_pct", received(outcome.plan), least.recv_max);
    write_gap(json, "peak_gap_pct", peak, least_peak_bytes(problem));
    write_gap(json, "time_gap_pct", outcome.plan.time, outcome.least_time);
    if (!problem.node_of.empty()) {
      const NodeSizes nodes = node_sizes(problem);
      json.key("nodes").begin_object().field("count", nodes.count);
      json.field("least", nodes.least).field("most", nodes.most).end_object();
    }
    json.key("steps").begin_array();
    for (const Step& step : outcome.plan.steps) {
      json.begin_object().field("op", op_name(step.op));
      json.field("recv_max", step.traffic.recv_max * size);
      json.field("messages", messages(outcome.link, step.traffic, size)).end_object();
    }
    json.end_array();
  }
  json.end_object();
}

JointSummary summarize_jointly(const std::vector<Case>& cases,
                               const std::vector<Outcome>& outcomes) {
  std::vector<ArrayRoute> routes;
  JointPieces apart;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (outcomes[i].status != Outcome::Status::kOk) continue;
    routes.push_back(make_route(*cases[i].problem, outcomes[i].plan));
    // For comparison: the senders that each array would choose alone.
    apart.push_back(joint_pieces({routes.back()}).front());
  }
  const JointLoads loads = joint_loads(routes, joint_pieces(routes));
  JointSummary together;
  together.arrays = static_cast<std::int64_t>(routes.size());
  together.sent_max = loads.sent_max;
  together.received_max = loads.received_max;
  together.sent_apart = joint_loads(routes, apart).sent_max;
  std::int64_t senders = 0;
  for (const Bytes sent : loads.sent) {
    together.sent_total += sent;
    senders += sent > 0;
  }
  together.sent_mean = senders > 0 ? together.sent_total / senders : 0;
  return together;
}

void write_joint_summary(JsonWriter& json, const JointSummary& together) {
  json.begin_object().field("arrays", together.arrays).field("sent_total", together.sent_total);
  json.field("sent_max", together.sent_max).field("sent_mean", together.sent_mean);
  json.field("sent_max_apart", together.sent_apart);
  json.field("recv_max", together.received_max).end_object();
}

std::string plan_line(const Problem& problem, const Outcome& outcome) {
  JsonWriter json;
  json.begin_object().field("id", problem.id).key("rounds").begin_array();
  for (const Round& round : outcome.rounds) {
    json.begin_array();
    for (const Transfer& transfer : round) {
      json.begin_array().value(problem.devices[transfer.from]).value(problem.devices[transfer.to]);
      write_box(json, transfer.box);
      if (transfer.add) json.value("add");
      json.end_array();
    }
    json.end_array();
  }
  json.end_array();
  // A target with partial axes of size 1 has one summand, the whole sum. For such a target,
  // partial() is false. But the user asked for a partial target, so `keeps` is written all the
  // same.
  const bool summands = problem.target_type && !problem.target_type->partial.empty();
  if (problem.target.partial() || summands) {
    const Layout& last = outcome.plan.last(problem);
    json.key("keeps").begin_array();
    for (Part part = 0; part < last.parts(); ++part) {
      if (!last.holds(part)) continue;
      for_each_box(last.region(part), [&](const Box& box) {
        json.begin_array().value(problem.devices[last.device_of(part)]);
        write_box(json, box);
        json.end_array();
      });
    }
    json.end_array();
  }
  return json.end_object().take() + "\n";
}

}  // namespace weft::reshard
