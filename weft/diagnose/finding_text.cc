// SPDX-License-Identifier: Apache-2.0
// Writes the texts of findings. kKinds has the id and the title of each kind. describe() takes the
// title from kKinds. Then it calls the function of the kind, which adds the other texts. Some texts
// contain numbers. These come from Suspect::facts.
#include "weft/diagnose/finding_text.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "weft/base/counted.h"

namespace weft::diagnose {
namespace {

constexpr std::array<FindingKindInfo, 14> kKinds = {{
    {FindingKind::kStraggler, "straggler", "the delay",
     "a rank or stage takes longer than its peers for the same work"},
    {FindingKind::kImbalance, "imbalance", "differences between ranks",
     "ranks take different times for the same work, and no single rank "
     "explains it"},
    {FindingKind::kHostStalls, "host_stalls", "stalls of host threads",
     "host threads stop at random places because they lose the processor"},
    {FindingKind::kSlowStep, "slow_step", "the delay",
     "a step takes longer than the others for the same work"},
    {FindingKind::kExposedCommunication, "exposed_communication", "transfers",
     "data moves while the device has nothing else to do"},
    {FindingKind::kCollective, "collective", "transfers",
     "exposed communication of one kind of collective in one group"},
    {FindingKind::kHostBound, "host_bound", "launch gaps",
     "the device waits for the host to launch work"},
    {FindingKind::kDataLoading, "data_loading", "data loading",
     "the host waits for the next batch"},
    {FindingKind::kPythonTime, "python_time", "the time between ops",
     "a host thread that computes runs Python or other code between its ops"},
    {FindingKind::kHostSync, "host_sync", "host synchronisation",
     "the host waits for the device before it continues"},
    {FindingKind::kMemoryCopies, "memory_copies", "memory copies",
     "copies between host and device or within the device"},
    {FindingKind::kSmallKernels, "small_kernels", "small kernels", "kernels shorter than 10 us"},
    {FindingKind::kDeviceGaps, "device_gaps", "pauses between kernels",
     "pauses between kernels that were launched in time"},
    {FindingKind::kProfiler, "profiler", "the profiler",
     "the cost of recording, which a job without profiler does not have"},
}};

/// True if kKinds has the order of the enumerators: info_of() uses the enumerator as an index.
constexpr bool in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order());

double ms(Nanos time) { return static_cast<double>(time) / 1e6; }

std::string explains(double share) {
  // The share may exceed 1, for this reason. An op that is faster than its peers has an ideal time
  // above its recorded time, so it becomes longer with its ideal time. If all ranks get ideal
  // times, such ops of other ranks become longer, too. If only this rank gets ideal times, they do
  // not.
  if (share > 0.995) return "this explains all of the time lost to stragglers";
  return fmt::format("this explains {:.0f} % of the time lost to stragglers", 100 * share);
}

void describe_straggler(const Suspect& suspect, FindingText& text) {
  const auto& facts = std::get<StragglerFacts>(suspect.facts);
  text.what_if = "stragglers=off";
  text.advice =
      "look for another process, a throttled or degraded device, "
      "uneven input or extra work on "
      "this rank; move this rank to another host to see whether the delay "
      "moves with the rank";
  std::string who;
  if (facts.stage >= 0) {
    who = fmt::format("pipeline stage {}", facts.stage);
    text.what = fmt::format("{} takes longer than the other stages for the same work; {}", who,
                            explains(facts.share));
    text.advice = "move layers from this stage to others, or give it faster devices";
  } else if (suspect.ranks.size() == 1) {
    who = fmt::format("rank {}", suspect.ranks.front());
    text.what = fmt::format("{} takes longer than its peers for the same work; {}", who,
                            explains(facts.share));
  } else {
    who = fmt::format("ranks {}", fmt::join(suspect.ranks, ", "));
    text.what = who +
                " take longer than their peers for the same work, and "
                "each of these ranks alone "
                "would delay the job";
  }
  text.title += " of " + who;
}

void describe_imbalance(const Suspect& suspect, FindingText& text) {
  text.what = fmt::format(
      "ranks take different times for the same work; "
      "together, these differences make the step {:.2f} times as long",
      std::get<ImbalanceFacts>(suspect.facts).slowdown);
  text.advice =
      "balance input and work between ranks; the findings of kind "
      "straggler, if any, name the "
      "ranks that differ most";
  text.what_if = "stragglers=off";
}

void describe_host_stalls(const Suspect& suspect, FindingText& text) {
  const auto& facts = std::get<HostStallFacts>(suspect.facts);
  text.what = fmt::format(
      "host threads stop {} times for {:.1f} ms (median) "
      "at places where other ranks do not stop; "
      "they seem to lose the processor",
      facts.stalls, ms(facts.median));
  text.advice =
      "give every rank its own cores (taskset, --cpu-bind), check "
      "the processor limit of the "
      "container (cpu.max, nr_throttled), look for other processes, "
      "and lower the number of threads "
      "(OMP_NUM_THREADS, loader workers)";
}

void describe_slow_step(const Suspect& suspect, FindingText& text) {
  const auto& facts = std::get<SlowStepFacts>(suspect.facts);
  text.title += fmt::format(" of step {}", facts.step);
  text.what = fmt::format("step {} takes {:.1f} ms, but the median step takes {:.1f} ms",
                          facts.step, ms(facts.length), ms(facts.median));
  text.advice =
      "if it is the first recorded step, skip more warm-up steps before "
      "recording; otherwise look "
      "for evaluation, checkpoints, logging or garbage collection in this step";
}

std::string advice_for(trace::CollectiveKind kind, Parallelism parallelism) {
  const std::string sharded =
      "prefetch earlier, shard over fewer ranks (hybrid sharding), or "
      "send half precision";
  switch (kind) {
    case trace::CollectiveKind::kAllReduce:
      // FSDP on gloo reduces and scatters gradients with all-reduces. It has no buckets.
      if (parallelism == Parallelism::kSharded) return sharded;
      return std::string(parallelism == Parallelism::kReplicated
                             ? "try other gradient bucket sizes (ddp.bucket_mb), overlap "
                             : "overlap ") +
             "all-reduces with the backward pass, or send fewer bytes (half precision, gradient "
             "accumulation)";
    case trace::CollectiveKind::kAllGather:
    case trace::CollectiveKind::kReduceScatter:
      return sharded;
    case trace::CollectiveKind::kAllToAll:
      return "overlap it with dense compute, or quantise the data";
    case trace::CollectiveKind::kSendRecv:
      return "overlap messages with compute of another micro-batch, or cut the "
             "model where "
             "activations are small";
    default:
      return "overlap it with compute, or send fewer bytes";
  }
}

void describe_exposed_communication(const Suspect& suspect, FindingText& text) {
  const auto& facts = std::get<CommunicationFacts>(suspect.facts);
  std::string mostly;
  if (facts.groups > 1) mostly = fmt::format(" (mostly {})", trace::to_text(*facts.main_kind));
  text.what = fmt::format(
      "{} collectives and messages{} move data, in part while no "
      "compute runs; without communication, the kernels "
      "that run beside it would be faster, too",
      facts.operations, mostly);
  text.advice = facts.main_kind ? advice_for(*facts.main_kind, facts.parallelism)
                                : "overlap transfers with compute, or send fewer bytes";
  text.what_if = "comm=off";
}

void describe_collective(const Suspect& suspect, FindingText& text) {
  const auto& facts = std::get<CollectiveFacts>(suspect.facts);
  text.title += fmt::format(": {}", trace::to_text(facts.kind));
  if (!facts.only_of_its_kind) text.title += fmt::format(" of {} ranks", facts.ranks);
  text.what =
      fmt::format("{} {} operation{} over {} ranks", facts.operations, trace::to_text(facts.kind),
                  facts.operations == 1 ? "" : "s", facts.ranks);
  if (!facts.group.empty()) text.what += " (group " + facts.group + ")";
  text.what += facts.operations == 1 ? " moves" : " move";
  text.what += facts.bytes > 0 ? fmt::format(" arrays of {:.1f} MB in total",
                                             static_cast<double>(facts.bytes) / 1e6)
                               : " data";
  text.advice = advice_for(facts.kind, facts.parallelism);
}

void describe_host_bound(const Suspect&, FindingText& text) {
  text.what = "the device waits for the host, which does not launch work fast enough";
  text.advice =
      "capture the step (torch.compile, CUDA graphs), fuse small ops "
      "(fused optimizer, foreach), "
      "and move Python work and logging out of the step";
}

void describe_data_loading(const Suspect&, FindingText& text) {
  text.what = "the host fetches batches while the device has nothing to do";
  text.advice =
      "use more loader workers, a larger prefetch_factor or "
      "pin_memory, or preprocess the data "
      "before training";
}

void describe_python_time(const Suspect& suspect, FindingText& text) {
  const auto& facts = std::get<PythonTimeFacts>(suspect.facts);
  text.what = fmt::format(
      "during {} between ops, threads run Python or other code that is not recorded; the longest "
      "pause takes {:.1f} ms, before {}",
      counted(suspect.removal.delays.size(), "pause"), ms(facts.longest), facts.before);
  if (facts.step >= 0) text.what += fmt::format(" of step {}", facts.step);
  text.advice =
      "look at the code right before the ops of the list: move logging, metrics, conversions of "
      "data and checkpoints out of the step, and fuse small ops (torch.compile)";
}

void describe_host_sync(const Suspect& suspect, FindingText& text) {
  text.what = fmt::format("the host waits for the device {} times instead of running ahead of it",
                          suspect.removal.removed_edges.size());
  text.advice =
      "avoid .item(), .cpu(), printing tensors and synchronize() in "
      "the step; copy with "
      "non_blocking=True from pinned memory";
}

void describe_memory_copies(const Suspect& suspect, FindingText& text) {
  text.what = fmt::format("{} copies and fills of memory run on the device",
                          suspect.removal.durations.size());
  text.advice =
      "keep data on the device, copy from pinned memory with "
      "non_blocking=True on another stream, "
      "avoid needless .contiguous() and .to()";
}

void describe_small_kernels(const Suspect& suspect, FindingText& text) {
  text.what = fmt::format(
      "{} kernels are shorter than 10 us; together they run for {:.1f} ms, "
      "summed over all ranks and steps",
      suspect.removal.durations.size(), ms(std::get<SmallKernelFacts>(suspect.facts).time));
  text.advice =
      "fuse them with torch.compile, a fused or foreach optimizer, "
      "or fused normalisation layers";
}

void describe_device_gaps(const Suspect&, FindingText& text) {
  text.what = "the device pauses between kernels that were launched in time";
  text.advice =
      "use CUDA graphs, which shorten the pauses between kernels, or "
      "fewer and larger kernels";
}

void describe_profiler(const Suspect&, FindingText& text) {
  text.what = "recording takes host time, which the job without profiler does not need";
  text.advice =
      "nothing needs to be fixed: weft replay predicts the step without the "
      "profiler; to disturb "
      "the job less, record fewer steps or leave out shapes and stacks";
}

/// Fills the fields of the text that this kind of finding uses. `title` already holds the title
/// from kKinds.
using Describe = void (*)(const Suspect&, FindingText&);

/// The functions, in the order of the enumerators.
constexpr std::array<Describe, kKinds.size()> kDescribe = {
    describe_straggler,
    describe_imbalance,
    describe_host_stalls,
    describe_slow_step,
    describe_exposed_communication,
    describe_collective,
    describe_host_bound,
    describe_data_loading,
    describe_python_time,
    describe_host_sync,
    describe_memory_copies,
    describe_small_kernels,
    describe_device_gaps,
    describe_profiler,
};

}  // namespace

std::span<const FindingKindInfo> finding_kinds() { return kKinds; }

const FindingKindInfo& info_of(FindingKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

FindingText describe(const Suspect& suspect) {
  FindingText text;
  text.title = info_of(suspect.kind).title;
  kDescribe[static_cast<std::size_t>(suspect.kind)](suspect, text);
  return text;
}

std::string about_pauses(const Finding& finding) {
  if (finding.kind != FindingKind::kStraggler || 2 * finding.pause <= finding.time) return "";
  return fmt::format(
      "; {:.0f} % of its delay is in pauses, in which no op was recorded: Python code, sleep, a "
      "lock, "
      "or a processor that another process uses",
      100 * std::min(1.0, static_cast<double>(finding.pause) / static_cast<double>(finding.time)));
}

}  // namespace weft::diagnose
