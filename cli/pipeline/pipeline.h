// SPDX-License-Identifier: Apache-2.0
// What the parts of `weft pipeline` share: a verb with several questions, one file each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/subcommand.h"
#include "weft/pipeline/model/profile.h"
#include "weft/pipeline/plan/planner.h"
#include "weft/pipeline/schedule/gantt.h"

namespace weft::cli {

/// The value of a flag, or `missing`.
std::string value_or(const Arguments& arguments, const char* flag, const char* missing = "");
/// "8e9,1.25e9" or "8GB/s,10Gbit": bytes a second. kUsage where it is none.
Result<std::vector<std::int64_t>> parse_bandwidths(const char* flag, std::string_view text);

/// The PROFILE of a question, with what is odd about it; without the time of its inputs where
/// --drop-input-time says so.
Result<pipeline::Profile> open_profile(const Arguments& arguments, const std::string& path,
                                       Diagnostics& diagnostics);

/// PROFILE --cluster C --microbatches M.
Result<ExitCode> run_pipeline_plan(const Arguments& arguments, Console& console);
/// What --cluster, --microbatches, --memory, --device-memory and --state-factor ask for, with what
/// is odd about it, and --stages, --replicas, --schedule.
Result<pipeline::Task> plan_task(const Arguments& arguments, const pipeline::Profile& profile,
                                 Diagnostics& diagnostics);
Result<pipeline::PlannerOptions> planner_options(const Arguments& arguments);
/// compare PROFILE --cluster C --microbatches M.
Result<ExitCode> run_pipeline_compare(const Arguments& arguments, Console& console);
/// PROFILE --model pipedream.
Result<ExitCode> run_pipedream(const Arguments& arguments, Console& console);

/// schedule INSTANCES, and its flags.
Result<ExitCode> run_pipeline_schedule(const Arguments& arguments, Console& console);
std::vector<Flag> pipeline_schedule_flags();
/// Orders of given stages that have names.
std::vector<std::string> instance_orders();
/// The instances of the second input: all, or the one that --instance names or counts from 0.
Result<std::vector<pipeline::Pipeline>> chosen_instances(const Arguments& arguments);
/// A known pattern, or "searched": the best that is found within --time-limit.
Result<pipeline::Schedule> schedule_of_instance(const Arguments& arguments, const std::string& name,
                                                const pipeline::Pipeline& pipeline);
/// export PLAN, and its flags.
Result<ExitCode> run_pipeline_export(const Arguments& arguments, Console& console);
std::vector<Flag> pipeline_export_flags();

/// gantt PLAN [PLAN].
Result<ExitCode> run_pipeline_gantt(const Arguments& arguments, Console& console);
/// Into the result, and into the file of --svg.
Status draw(const Arguments& arguments, Console& console, std::span<const pipeline::Drawn> drawn,
            bool in_result);

/// predict RECORDING..., and its flags.
Result<ExitCode> run_pipeline_predict(const Arguments& arguments, Console& console);
std::vector<Flag> pipeline_predict_flags();

/// profile RECORDING... -o FILE.
Result<ExitCode> run_pipeline_profile(const Arguments& arguments, Console& console);

/// replan TIMELINE, and its flags.
Result<ExitCode> run_pipeline_replan(const Arguments& arguments, Console& console);
std::vector<Flag> pipeline_replan_flags();

}  // namespace weft::cli
