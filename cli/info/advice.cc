// SPDX-License-Identifier: Apache-2.0
// The advice of `weft info`: for each kind of information that a recording lacks, Weft names the
// profiler setting that records it. The settings differ between profilers. They also differ between
// scripts that call the profiler themselves and `weft record`. So there is one row of texts for
// each of these recorders.
#include <algorithm>

#include "cli/info/summary.h"
#include "weft/trace/runs/job_facts.h"

namespace weft::cli {
namespace {

/// The advice for users of one recorder. A text is null if the recorder has no such setting.
struct Recorder {
  std::string_view format;
  const char* no_steps;
  const char* one_step;
  const char* no_sizes;
  const char* no_device;
  const char* no_sync;
  const char* no_shapes;
  const char* no_memory;
  const char* stacks;
};

constexpr const char* kCommunicationOnly =
    "NCCL logs contain only communication, so Weft cannot see which compute waited for it: "
    "record a few steps with torch.profiler or Nsight Systems before asking what-ifs.";

constexpr const char* kKinetoSizes =
    "Some collectives have no size: PyTorch 2.2 or newer writes them, or record an execution trace "
    "(torch.profiler.ExecutionTraceObserver) beside the profile and keep both files in the folder.";

/// For recordings whose script called the profiler itself.
constexpr Recorder kByHand[] = {
    {"kineto", "No steps are marked: call prof.step() after every training step.",
     "Only one step was recorded: schedule=torch.profiler.schedule(wait=1, warmup=2, active=3) "
     "shows how steps vary.",
     kKinetoSizes,
     "No device work was recorded. If the job uses GPUs: activities=[ProfilerActivity.CPU, "
     "ProfilerActivity.CUDA].",
     "Waits between streams were not recorded and are inferred: experimental_config="
     "torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)",
     "No tensor shapes were recorded: record_shapes=True",
     "No allocations were recorded: profile_memory=True, if memory matters.",
     "Python stacks make files large and steps slow: with_stack=False"},
    {"nsys",
     "No steps are marked: torch.cuda.nvtx.range_push(f\"step {n}\") before and range_pop() after "
     "every training step.",
     "Only one step was recorded: extend the capture range to three steps or more.",
     "Some collectives have no size: nsys export --include-json=true keeps the arguments of NCCL "
     "calls.",
     nullptr,
     "Waits between streams were not recorded and are inferred: nsys profile "
     "--cuda-event-trace=true",
     "No tensor shapes were recorded: torch.autograd.profiler.emit_nvtx(record_shapes=True)",
     nullptr, nullptr},
    {"mxnet",
     "No steps are marked: profiler.Task(profiler.Domain(\"train\"), f\"step {n}\"), started "
     "before and stopped after every training step.",
     "Only one step was recorded: stop the profiler after three or more.", nullptr,
     "No operators were recorded: profiler.set_config(profile_all=True)", nullptr, nullptr,
     "No allocations were recorded: profiler.set_config(profile_memory=True), if memory matters.",
     nullptr},
    {"nccl-profiler", kCommunicationOnly, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
     nullptr},
    {"nccl-inspector", kCommunicationOnly, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
     nullptr},
    {"xplane",
     "No steps are marked: put every training step into "
     "jax.profiler.StepTraceAnnotation(\"train\", step_num=i), or into "
     "tf.profiler.experimental.Trace(\"train\", step_num=i, _r=1).",
     "Only one step was recorded: three or more show how steps vary.", nullptr, nullptr, nullptr,
     nullptr, nullptr,
     "Python frames make files large and steps slow: python_tracer_level = 0 in "
     "jax.profiler.ProfileOptions."},
};

constexpr const char* kOneStep =
    "Only one step was recorded: weft record --steps 10..14 shows how steps vary.";
constexpr const char* kNoMemory =
    "No allocations were recorded: weft record --memory, if memory matters.";

/// For recordings of weft record. weft record always marks steps. If there are devices, it records
/// their work and the waits between streams. So there is no advice about marks of steps, device
/// work and waits.
constexpr Recorder kByWeft[] = {
    {"kineto", nullptr, kOneStep, kKinetoSizes, nullptr, nullptr,
     "No tensor shapes were recorded: weft record without --no-shapes", kNoMemory,
     "Python stacks make files large and steps slow: weft record without --stacks"},
    {"mxnet", nullptr, kOneStep, nullptr, nullptr, nullptr, nullptr, kNoMemory, nullptr},
    {"xplane", nullptr, kOneStep, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr},
};

bool lacks_sizes(const RankSummary& rank) {
  return std::any_of(
      rank.collectives.begin(), rank.collectives.end(),
      [](const CollectiveSummary& c) { return c.with_size + c.size_inferred < c.count; });
}

void advise_users_of(const Recorder& recorder, const std::vector<const RankSummary*>& ranks,
                     std::vector<Advice>& list) {
  // Whether `test` is true for any rank that this recorder recorded.
  const auto any = [&](const auto& test) {
    return std::any_of(ranks.begin(), ranks.end(), [&](const RankSummary* rank) {
      return rank->trace->format == recorder.format && test(*rank, rank->trace->facts);
    });
  };
  const auto add = [&](const char* id, const char* text) {
    if (text != nullptr) list.push_back({id, text});
  };
  using Rank = RankSummary;
  using Facts = trace::ProfilerFacts;
  if (any([](const Rank& r, const Facts&) { return r.steps.empty(); })) {
    add("no-steps", recorder.no_steps);
  } else if (any([](const Rank& r, const Facts&) { return r.steps.size() == 1; })) {
    add("one-step", recorder.one_step);
  }
  if (any([](const Rank& r, const Facts&) { return lacks_sizes(r); })) {
    add("no-collective-sizes", recorder.no_sizes);
  }
  if (any([](const Rank&, const Facts& f) { return !f.device_events; })) {
    add("no-device-events", recorder.no_device);
  } else if (any([](const Rank&, const Facts& f) { return !f.sync_events; })) {
    add("no-sync-events", recorder.no_sync);
  }
  if (any([](const Rank&, const Facts& f) { return !f.shapes; })) {
    add("no-shapes", recorder.no_shapes);
  }
  if (any([](const Rank&, const Facts& f) { return !f.memory_events; })) {
    add("no-memory-events", recorder.no_memory);
  }
  if (any([](const Rank&, const Facts& f) { return f.stacks || f.python_events > 0; })) {
    add("stacks", recorder.stacks);
  }
}

}  // namespace

std::vector<Advice> advise(const RunSummary& run) {
  std::vector<Advice> list;
  if (!run.missing_ranks.empty()) {
    list.push_back({"missing-ranks",
                    "Some ranks are missing: run the profiler on every rank and put all files into "
                    "one folder. Weft cannot distinguish waiting for missing ranks from slow "
                    "transfers."});
  }
  std::vector<const RankSummary*> by_hand;
  std::vector<const RankSummary*> by_weft;
  for (const RankSummary& rank : run.ranks) {
    (trace::has_job_facts(*rank.trace) ? by_weft : by_hand).push_back(&rank);
  }
  for (const Recorder& recorder : kByHand) advise_users_of(recorder, by_hand, list);
  for (const Recorder& recorder : kByWeft) advise_users_of(recorder, by_weft, list);
  return list;
}

}  // namespace weft::cli
