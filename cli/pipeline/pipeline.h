// SPDX-License-Identifier: Apache-2.0
// Declares what the sub-verbs of `weft pipeline` share. Each sub-verb is declared and implemented
// in a file of its own.
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

Subcommand pipeline_compare_command();
Subcommand pipeline_export_command();
Subcommand pipeline_gantt_command();
Subcommand pipeline_predict_command();
Subcommand pipeline_profile_command();
Subcommand pipeline_replan_command();
Subcommand pipeline_schedule_command();

/// The last value of a flag, or `missing` if the flag is not given.
std::string value_or(const Arguments& arguments, const char* flag, const char* missing = "");
/// Parses "8e9,1.25e9" or "8GB/s,10Gbit" into bytes per second. Failure is ErrorCode::kUsage and
/// names `flag`.
Result<std::vector<std::int64_t>> parse_bandwidths(const char* flag, std::string_view text);

/// Reads a PROFILE. With --drop-input-time, layers that load data take no time. Without this flag,
/// `diagnostics` gets a note if there are such layers.
Result<pipeline::Profile> open_profile(const Arguments& arguments, const std::string& path,
                                       Diagnostics& diagnostics);

/// The flags that `weft pipeline PROFILE` and `weft pipeline compare` share, because the two make
/// plans.
std::vector<Flag> planning_flags();
/// Refuses `--memory 80GB`. The flag --memory takes no value, so `80GB` would be taken for the name
/// of an input file.
Status check_memory_flag(const Arguments& arguments);
/// The planning problem that --cluster, --microbatches, --memory, --device-memory and
/// --state-factor describe. If memory is limited, `diagnostics` lists the devices whose memory is
/// unknown.
Result<pipeline::Task> plan_task(const Arguments& arguments, const pipeline::Profile& profile,
                                 Diagnostics& diagnostics);
/// What --stages, --replicas, --chunks and --schedule ask for.
Result<pipeline::PlannerOptions> planner_options(const Arguments& arguments);
/// Which plans the lower bound of `planned` is about: "plan with one stage per device". Plans with
/// other choices may be shorter.
std::string bounded_plan(const pipeline::Planned& planned);
/// Runs `weft pipeline PROFILE --cluster C --microbatches M`.
Result<ExitCode> run_pipeline_plan(const Arguments& arguments, Console& console);
/// Runs `weft pipeline PROFILE --model pipedream`.
Result<ExitCode> run_pipedream(const Arguments& arguments, Console& console);

/// The names of all schedules that can be made for given stages. `weft pipeline export --schedule`
/// and `weft pipeline schedule --beside` accept these names.
std::vector<std::string> instance_orders();
/// Reads the pipelines in the file that the first input names. Returns all of them. With
/// --instance, returns only the pipeline with that name or position; positions count from 0.
Result<std::vector<pipeline::Pipeline>> chosen_instances(const Arguments& arguments);
/// `name` is one of instance_orders(), or "searched" for the best schedule that is found within
/// --time-limit.
Result<pipeline::Schedule> schedule_of_instance(const Arguments& arguments, const std::string& name,
                                                const pipeline::Pipeline& pipeline);

/// Draws schedules below each other, on the same time scale: as text at the end of console.result
/// if `in_result`, and as a picture into the file of --svg if it is given.
Status draw(const Arguments& arguments, Console& console, std::span<const pipeline::Drawn> drawn,
            bool in_result);

}  // namespace weft::cli
