// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/profile.h"

#include <algorithm>

#include "weft/base/json/writer.h"
#include "weft/base/median.h"
#include "weft/pipeline/recorded/modules.h"
#include "weft/pipeline/recorded/ranks.h"
#include "weft/pipeline/recorded/recording.h"
#include "weft/pipeline/recorded/weights.h"

namespace weft::pipeline::recorded {
namespace {

/// Median device time of a layer over all passes.
Nanos median_time(const StageRecord& stage, std::vector<Pass> StageStep::*passes,
                  std::size_t layer) {
  std::vector<Nanos> times;
  for (const StageStep& step : stage.steps) {
    for (const Pass& pass : step.*passes) times.push_back(pass[layer].device_device);
  }
  return median(times);
}

constexpr DiagnosticKind kKeptUnknown{
    "pipeline-kept-unknown", Severity::kWarning,
    "allocations or modules were not recorded, so the memory that a micro-batch keeps until its "
    "backward is taken to be the output of each layer; it is often more",
    "record stacks and memory (weft record --stacks --memory, or with_stack and profile_memory of "
    "torch's profiler), or write stash_bytes into the profile"};

/// The share of gradients of weights in the kernel time of a layer's backwards.
double weight_share(const std::vector<graph::OpId>& kernels, const graph::Graph& graph,
                    const WeightWork& weights) {
  double all = 0, of_weights = 0;
  for (const graph::OpId kernel : kernels) {
    const std::uint32_t event = graph.ops.event[kernel];
    if (event == graph::kNoId) continue;
    if (weights.is_one_piece(event)) return 0;  // the whole backward must stay together
    const auto time = static_cast<double>(graph.ops.duration[kernel]);
    all += time;
    of_weights += time * weights.share(event);
  }
  return all > 0 ? of_weights / all : 0;
}

/// The layers of a stage that were found by repetition. They have no names.
std::vector<Layer> repeated_layers(const StageRecord& stage, const trace::RankTrace& trace,
                                   const graph::Graph& graph, Bytes message) {
  const trace::Launches launches = trace::resolve_launches(trace);
  const WeightWork weights(trace, launches);
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(stage.layers); ++i) {
    Layer& layer = layers.emplace_back();
    layer.name = "layer";
    layer.forward = median_time(stage, &StageStep::forwards, i);
    layer.backward = median_time(stage, &StageStep::backwards, i);
    layer.parameters = stage.gradients[i];
    if (layer.parameters > 0) {
      layer.weight = static_cast<Nanos>(static_cast<double>(layer.backward) *
                                        weight_share(stage.backward_kernels[i], graph, weights));
    }
    layer.activation = layer.stash = std::max<Bytes>(0, message);
  }
  return layers;
}

const trace::RankTrace& trace_of(const predict::Job& job, std::int32_t rank) {
  return *std::find_if(job.run.ranks.begin(), job.run.ranks.end(),
                       [&](const trace::RankTrace& trace) { return trace.rank == rank; });
}

}  // namespace

Result<Profile> recorded_profile(const predict::Job& job, Diagnostics& diagnostics) {
  if (job.from_phases) {
    return fail(ErrorCode::kUsage,
                "an op timeline does not show layers, so no profile can be made of it");
  }
  WEFT_TRY(check_peers(job.run));
  WEFT_ASSIGN(const predict::Predictor predictor, predict::Predictor::make(job, {}));
  Profile profile;
  profile.name = job.run.label;
  const auto modules_of = [&](const trace::RankTrace& trace) {
    ModuleLayers found = module_layers(trace, predictor);
    if (!found.knows_what_is_kept) {
      diagnostics.add(kKeptUnknown, "rank " + std::to_string(trace.rank));
    }
    return std::move(found.layers);
  };
  // A recording that shows no pipeline is no error here. Then every rank shows the whole model, and
  // the first rank is used.
  const Result<Recording> pipeline = take_apart(job, predictor, {});
  if (pipeline) {
    for (const StageRecord& stage : pipeline->stages) {
      const trace::RankTrace& trace = trace_of(job, stage.rank);
      std::vector<Layer> layers = modules_of(trace);
      if (layers.empty()) {
        layers = repeated_layers(stage, trace, predictor.clean(), pipeline->messages.bytes());
      }
      // The input of a stage gets a gradient too, but it is not a parameter.
      if (!profile.layers.empty() && layers.front().parameters >= pipeline->messages.bytes()) {
        layers.front().parameters -= std::max<Bytes>(0, pipeline->messages.bytes());
      }
      profile.layers.insert(profile.layers.end(), layers.begin(), layers.end());
    }
  } else {
    const auto first = std::min_element(
        job.run.ranks.begin(), job.run.ranks.end(),
        [](const trace::RankTrace& a, const trace::RankTrace& b) { return a.rank < b.rank; });
    profile.layers = modules_of(*first);
  }
  if (profile.layers.empty()) {
    return fail(ErrorCode::kUsage,
                "the recording has no modules and is not one of a pipeline, so it shows no layers; "
                "record with stacks (with_stack=True)");
  }
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    profile.layers[i].id = std::to_string(i) + "." + profile.layers[i].name;
    if (i == 0) continue;
    const auto at = static_cast<std::int32_t>(i);
    profile.edges.push_back({at - 1, at});
  }
  return profile;
}

std::string profile_json(const Profile& profile) {
  const auto milliseconds = [](Nanos time) { return static_cast<double>(time) / 1e6; };
  JsonWriter json(2);
  json.begin_object().field("name", profile.name).key("layers").begin_array();
  for (const Layer& layer : profile.layers) {
    json.begin_object().field("id", layer.id).field("name", layer.name);
    json.field("forward_ms", milliseconds(layer.forward));
    json.field("backward_ms", milliseconds(layer.backward));
    json.field("weight_ms", milliseconds(layer.weight));
    json.field("activation_bytes", layer.activation);
    json.field("parameter_bytes", layer.parameters);
    json.field("stash_bytes", layer.stash).end_object();
  }
  json.end_array().key("edges").begin_array();
  for (const LayerEdge& edge : profile.edges) {
    json.begin_array().value(profile.layers[static_cast<std::size_t>(edge.from)].id);
    json.value(profile.layers[static_cast<std::size_t>(edge.to)].id).end_array();
  }
  return json.end_array().end_object().take() + "\n";
}

}  // namespace weft::pipeline::recorded
