// SPDX-License-Identifier: Apache-2.0
// Runs the golden cases in tests/cases/reshard_plans. The input of a case has one field per line, a
// name and a value:
//   * mesh x=2,y=4: axes and sizes, most significant first
//   * shape 1024,4096
//   * from x,- and to -,x+y: source and target, in the notation of parse_sharding()
//   * from-partial, to-partial: axes along which devices hold summands; default: none
//   * split: ceil_flat (the default), ceil_nested or balanced
//   * type f32: the type of the elements; to-type: the type of the target, if it is another one
//   * budget 128: bytes that a device may use beside source and target; default: no limit
//   * link 10us,25GB/s: cost of a round, and bandwidth into a device
//   * message-cost 2us: default 0us
//   * node-size 4: devices per node; default: no nodes
//   * node-bandwidth 5GB/s: bandwidth into a node
// The output is the plan, with its amounts and their lower bounds. check_plan() also checks each
// plan by box algebra and with numbers.
#include <gtest/gtest.h>

#include <sstream>

#include "weft/base/decimal.h"
#include "weft/base/golden_cases.h"
#include "weft/reshard/check/outcome.h"
#include "weft/reshard/execute/program/program.h"
#include "weft/reshard/layout/text.h"
#include "weft/reshard/search/bounds.h"

namespace weft::reshard::execute {
namespace {

const std::string kReshardCases = std::string(WEFT_SOURCE_DIR) + "/tests/cases/reshard_plans";

struct ReshardRequest {
  Problem problem;
  Link link;
  Bytes budget = 0;
};

Result<ReshardRequest> request_of(const golden::Case& golden) {
  WEFT_ASSIGN(auto fields, golden::fields(golden.input("problem"),
                                          {"mesh", "shape", "from", "to", "from-partial",
                                           "to-partial", "split", "type", "to-type", "budget",
                                           "link", "message-cost", "node-size", "node-bandwidth"}));
  const auto text = [&](const char* name, const char* missing) {
    return fields.contains(name) ? fields[name] : std::string(missing);
  };
  ReshardRequest request;
  WEFT_ASSIGN(const Mesh mesh, parse_mesh(text("mesh", ""), ""));
  WEFT_ASSIGN(const Shape shape, parse_shape(text("shape", "")));
  WEFT_ASSIGN(const Sharding from,
              parse_sharding(mesh, text("from", ""), text("from-partial", "")));
  WEFT_ASSIGN(const Sharding to, parse_sharding(mesh, text("to", ""), text("to-partial", "")));
  const auto rule = split_rule(text("split", "ceil_flat"));
  if (!rule) return bad_input("a case has an unknown split rule");
  const std::string type = text("type", "f32");
  WEFT_ASSIGN(request.problem, make_problem(shape, 4, from, to, *rule));
  WEFT_TRY(set_types(request.problem, type, text("to-type", type.c_str())));
  WEFT_ASSIGN(request.link, parse_link(text("link", "10us,25GB/s")));
  WEFT_ASSIGN(request.link.message, parse_duration(text("message-cost", "0us")));
  if (fields.contains("node-size")) {
    const auto size = parse_digits(fields["node-size"]);
    if (!size) return bad_input("the node-size of a case is not a number");
    set_nodes(request.problem, *size);
    WEFT_ASSIGN(request.link.node_bandwidth, parse_bandwidth(text("node-bandwidth", "")));
  }
  const auto budget = parse_digits(text("budget", "0"));
  if (!budget) return bad_input("the budget of a case is not a number of bytes");
  request.budget = *budget;
  return request;
}

/// The time in microseconds, with all digits down to picoseconds except trailing zeros.
std::string in_us(Picos time) {
  std::ostringstream out;
  out.precision(15);
  out << static_cast<double>(time) / 1e6 << " us";
  return out.str();
}

std::string print_steps(const ReshardRequest& request, const Outcome& outcome) {
  const Problem& problem = request.problem;
  std::ostringstream out;
  int number = 0;
  for (const Step& step : outcome.plan.steps) {
    out << "step " << ++number << ": " << op_name(step.op) << ", "
        << in_us(price(outcome.link, step.traffic, problem.item_size)) << "\n  ";
    if (step.traffic.recv_max == 0) {
      out << "nothing moves";
    } else {
      const std::int64_t count = messages(outcome.link, step.traffic, problem.item_size);
      out << "a device receives " << step.traffic.recv_max * problem.item_size << " bytes in "
          << count << (count == 1 ? " message" : " messages");
    }
    out << "; then a device holds at most " << step.layouts.front()->largest() << " elements";
    if (step.layouts.size() > 1) {
      out << ", and " << step.layouts.back()->largest() << " after the second round";
    }
    out << "\n";
  }
  if (outcome.plan.steps.empty()) out << "no steps\n";
  return out.str();
}

std::string print_totals(const ReshardRequest& request, const Outcome& outcome) {
  const Problem& problem = request.problem;
  const Bounds least = bounds(problem);
  std::ostringstream out;
  out << "receives: " << received(outcome.plan) * problem.item_size << " bytes, lower bound "
      << least.recv_max * problem.item_size << "\n";
  if (!problem.node_of.empty()) {
    std::int64_t into_node = 0;
    for (const Step& step : outcome.plan.steps) into_node += step.traffic.node_recv_max;
    out << "into a node: " << into_node * problem.item_size << " bytes, lower bound "
        << least.node_recv_max * problem.item_size << "\n";
  }
  out << "peak: " << peak_bytes(problem, outcome.plan) << " bytes, lower bound "
      << least_peak_bytes(problem) << "\n";
  out << "time: " << in_us(outcome.plan.time) << ", lower bound " << in_us(outcome.least_time)
      << "\n";
  return out.str();
}

Result<std::string> reshard_of_case(const golden::Case& golden) {
  WEFT_ASSIGN(const ReshardRequest request, request_of(golden));
  PlannerOptions options;
  options.link = request.link;
  Result<Plan> plan = make_plan_within(request.problem, options, request.budget);
  if (!plan) return "no plan: " + plan.error().message + "\n";
  Outcome outcome = check_plan(request.problem, request.link, std::move(*plan));
  if (outcome.status != Outcome::Status::kOk) return bad_input(outcome.reason);
  std::string memory;
  if (request.budget > 0) {
    const BudgetUse use = budget_use({{&request.problem, &outcome.plan, {}}}, request.budget);
    // Messages that the budget cuts cost more, so the steps are priced again.
    set_window(request.problem, 2 * use.message, outcome);
    memory = "budget: " + std::to_string(request.budget) + " bytes, of which " +
             std::to_string(use.staged) + " staged between rounds; messages of at most " +
             std::to_string(use.message) + " bytes\n";
  }
  return print_steps(request, outcome) + print_totals(request, outcome) + memory;
}

class ReshardPlanCases : public testing::TestWithParam<std::string> {};

TEST_P(ReshardPlanCases, GiveTheExpectedSteps) {
  const Status checked = golden::check(GetParam(), reshard_of_case);
  EXPECT_TRUE(checked) << checked.error().text();
}

INSTANTIATE_TEST_SUITE_P(All, ReshardPlanCases, testing::ValuesIn(golden::files(kReshardCases)),
                         [](const auto& given) {
                           return std::filesystem::path(given.param).stem().string();
                         });

}  // namespace
}  // namespace weft::reshard::execute
