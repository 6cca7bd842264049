// SPDX-License-Identifier: Apache-2.0
// Finds and measures layers in these steps:
// 1. Find the calls of modules.
// 2. Choose the calls that are layers. A container is not a layer, but the modules inside it are.
// 3. Number the layers within each micro-batch.
// 4. Connect backward ops to layers by autograd's sequence numbers.
// 5. Add up the times of kernels, the gradients and the activations of each layer.
// 6. Divide the sums by the number of micro-batches.
#include "weft/pipeline/recorded/modules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>

#include "weft/graph/names.h"
#include "weft/pipeline/recorded/kept.h"
#include "weft/pipeline/recorded/weights.h"
#include "weft/trace/launches.h"
#include "weft/trace/module_calls.h"

namespace weft::pipeline::recorded {
namespace {

using graph::OpId;
using graph::OpKind;
using trace::EventKind;
using trace::kNone;

/// Containers and wrappers: modules that only call other modules. A container is not a layer, but
/// the modules inside it are.
constexpr std::array<std::string_view, 5> kOpened = {"Sequential_", "DistributedDataParallel_",
                                                     "FullyShardedDataParallel_", "DataParallel_",
                                                     "OptimizedModule_"};

/// How many elements a list of shapes has, for example "[[32, 64, 56, 56], [64]]": in the first
/// array, and in all arrays together.
struct Elements {
  std::int64_t first = 0, all = 0;
};

/// Returns zeros if the sizes are too large for 64 bits. No real array is that large.
Elements count_elements(std::string_view dims) {
  Elements elements;
  std::int64_t product = 1;
  bool in_array = false, first_done = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == '[') {
      // A bracket that a digit follows opens a shape; others only group shapes.
      in_array = i + 1 < dims.size() && dims[i + 1] >= '0' && dims[i + 1] <= '9';
      product = 1;
    } else if (dims[i] == ']') {
      if (in_array) {
        if (__builtin_add_overflow(elements.all, product, &elements.all)) return {};
        if (!first_done) elements.first = product;
        first_done = true;
      }
      in_array = false;
    } else if (dims[i] >= '0' && dims[i] <= '9' && in_array) {
      std::int64_t number = 0;
      const auto end = std::from_chars(dims.data() + i, dims.data() + dims.size(), number).ptr;
      if (__builtin_mul_overflow(product, number, &product)) return {};
      i = static_cast<std::size_t>(end - dims.data()) - 1;
    }
  }
  return elements;
}

class Modules {
 public:
  Modules(const trace::RankTrace& trace, const predict::Predictor& predictor)
      : trace_(trace),
        events_(trace.events),
        graph_(predictor.clean()),
        steps_(predictor.steps().begin(), predictor.steps().end()),
        launches_(trace::resolve_launches(trace)),
        weights_(trace, launches_) {}

  ModuleLayers run() {
    // The order matters: each step uses the results of the steps before it.
    find_modules();
    find_layer_calls();
    if (calls_.empty()) return {};
    number_layers();
    tie_backwards();
    add_work();
    add_parameters();
    add_activations();
    return finish();
  }

 private:
  bool is_module(std::uint32_t event) const {
    return events_.kind[event] == EventKind::kAnnotation &&
           trace_.names.text(events_.name[event]).starts_with(trace::kModulePrefix);
  }
  std::string_view module_name(std::uint32_t event) const {
    return trace_.names.text(events_.name[event]).substr(trace::kModulePrefix.size());
  }
  /// The innermost module call that contains the event; kNone if there is none.
  std::uint32_t module_around(std::uint32_t event) const {
    std::uint32_t above = launches_.parent[event];
    while (above != kNone && !is_module(above)) above = launches_.parent[above];
    return above;
  }

  void find_modules() {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      if (!is_module(i)) continue;
      const std::uint32_t above = module_around(i);
      if (above == kNone) roots_.push_back(i);
      if (above != kNone) children_[above].push_back(i);
    }
    const auto by_start = [&](std::uint32_t a, std::uint32_t b) {
      return events_.start[a] < events_.start[b];
    };
    std::sort(roots_.begin(), roots_.end(), by_start);
    // Modules that are called on autograd's thread are recomputation during a backward, not layers.
    std::erase_if(roots_, [first = roots_.empty() ? 0 : roots_.front(), this](std::uint32_t root) {
      return events_.lane[root] != events_.lane[first];
    });
    for (auto& [module, list] : children_) std::sort(list.begin(), list.end(), by_start);
  }

  bool opened(std::uint32_t module) const {
    const std::string_view name = module_name(module);
    return children_.contains(module) &&
           std::any_of(kOpened.begin(), kOpened.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
  }

  void add_calls(std::uint32_t module, bool is_model) {
    if (!is_model && !opened(module)) {
      calls_.push_back(module);
      return;
    }
    // The outermost module is the model and is always opened. If it is a wrapper such as DDP, the
    // model is the one module inside it.
    const auto& inside = children_.at(module);
    const bool wraps = is_model && opened(module) && inside.size() == 1;
    for (const std::uint32_t child : inside) add_calls(child, wraps && children_.contains(child));
  }

  void find_layer_calls() {
    for (const std::uint32_t root : roots_) {
      if (in_steps(events_.start[root])) add_calls(root, children_.contains(root));
    }
  }

  bool in_steps(Nanos time) const {
    return trace_.steps.empty() ||
           std::any_of(trace_.steps.begin(), trace_.steps.end(), [&](const trace::StepMark& step) {
             return steps_.contains(step.number) && time >= step.start && time < step.end;
           });
  }

  /// Every micro-batch calls the layers in the same order, so a call with the name of the first
  /// layer starts a new micro-batch. The position of a call within its micro-batch identifies the
  /// layer.
  void number_layers() {
    const NameId first = events_.name[calls_.front()];
    std::size_t place = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (i == 0 || events_.name[calls_[i]] == first) {
        place = 0;
        ++passes_;
      }
      if (place == layers_.size()) {
        Layer& layer = layers_.emplace_back();
        layer.name = std::string(module_name(calls_[i]));
      }
      place_of_call_[calls_[i]] = place;
      layer_calls_.push_back({calls_[i], place++, static_cast<std::size_t>(passes_ - 1)});
    }
    sums_.resize(layers_.size());
  }

  /// The layer that contains an event of the main thread, or else the last layer called before it.
  std::size_t place_of(std::uint32_t event) const {
    for (std::uint32_t above = event; above != kNone; above = launches_.parent[above]) {
      const auto found = place_of_call_.find(above);
      if (found != place_of_call_.end()) return found->second;
    }
    std::size_t place = 0;
    const auto after = std::upper_bound(
        calls_.begin(), calls_.end(), events_.start[event],
        [&](Nanos time, std::uint32_t call) { return time < events_.start[call]; });
    if (after != calls_.begin()) place = place_of_call_.at(*std::prev(after));
    return place;
  }

  /// Autograd gives a forward op and the backward ops that it causes the same sequence number.
  void tie_backwards() {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      if (events_.kind[i] != EventKind::kHostOp || events_.detail[i] == kNone) continue;
      const trace::HostOpDetail& detail = trace_.host_ops[events_.detail[i]];
      // fwd_thread is only set on backward ops.
      if (detail.sequence < 0 || detail.fwd_thread > 0) continue;
      place_of_sequence_[detail.sequence] = place_of(i);
    }
  }

  struct Place {
    std::size_t layer = 0;
    bool backward = false;
  };

  /// The layer and direction of host work on any thread. `last` is the result for the work before
  /// this work. It is used for work on autograd's thread that has no sequence number.
  Place place_of_work(std::uint32_t event, const Place& last) const {
    for (std::uint32_t above = event; above != kNone; above = launches_.parent[above]) {
      if (events_.kind[above] != EventKind::kHostOp || events_.detail[above] == kNone) continue;
      const trace::HostOpDetail& detail = trace_.host_ops[events_.detail[above]];
      const auto found = place_of_sequence_.find(detail.sequence);
      if (detail.sequence >= 0 && detail.fwd_thread > 0 && found != place_of_sequence_.end()) {
        return {found->second, true};
      }
    }
    // Work on another thread without a sequence number is autograd's. It belongs to the same layer
    // as the work before it.
    if (events_.lane[event] != events_.lane[calls_.front()]) return {last.layer, true};
    return {place_of(event), false};
  }

  /// The ops whose durations are the cost of layers: kernels and copies, or host ops if the job has
  /// no device.
  std::vector<OpId> work() const {
    std::vector<OpId> kernels, host;
    for (OpId op = 0; op < graph_.size(); ++op) {
      const OpKind kind = graph_.ops.kind[op];
      if (graph_.rank(op) != trace_.rank || !steps_.contains(graph_.ops.step[op])) continue;
      if (kind == OpKind::kKernel || kind == OpKind::kCopy) kernels.push_back(op);
      if (kind == OpKind::kHost) host.push_back(op);
    }
    return kernels.empty() ? host : kernels;
  }

  void add_work() {
    Place last;
    for (const OpId op : work()) {
      const std::uint32_t event = graph_.ops.event[op];
      if (event == graph::kNoId) continue;
      const bool on_host = graph_.ops.kind[op] == OpKind::kHost;
      const std::uint32_t cause = on_host ? event : launches_.launcher[event];
      if (cause == kNone) continue;
      const Place place = place_of_work(cause, last);
      // Work of the main thread after a backward and outside of modules belongs to the optimizer.
      if (!place.backward && last.backward && !in_module(cause)) continue;
      Sums& sums = sums_[place.layer];
      const Nanos time = graph_.ops.duration[op];
      (place.backward ? sums.backward : sums.forward) += time;
      if (place.backward) sums.weight += weights_.share(event) * static_cast<double>(time);
      sums.one_piece |= place.backward && weights_.is_one_piece(event);
      last = place;
    }
  }

  bool in_module(std::uint32_t event) const { return module_around(event) != kNone; }

  /// Counts parameters by their gradients: each parameter's gradient becomes ready once per
  /// backward.
  void add_parameters() {
    Place last;
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (graph_.rank(op) != trace_.rank || !steps_.contains(graph_.ops.step[op])) continue;
      const std::uint32_t event = graph_.ops.event[op];
      if (graph_.lanes[graph_.ops.lane[op]].kind != graph::LaneKind::kHost ||
          event == graph::kNoId) {
        continue;
      }
      const Place place = place_of_work(event, last);
      if (place.backward) last = place;
      if (graph_.name(op) != graph::kGradientReady || graph_.ops.bytes[op] < 0) continue;
      sums_[last.layer].parameters += graph_.ops.bytes[op];
    }
  }

  /// We assume that the first input of the first op of a layer is the output of the layer before.
  void add_activations() {
    std::vector<bool> known(layers_.size());
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      if (events_.kind[i] != EventKind::kHostOp || events_.detail[i] == kNone) continue;
      const trace::HostOpDetail& detail = trace_.host_ops[events_.detail[i]];
      if (detail.input_bytes <= 0 || !in_module(i)) continue;
      const std::size_t place = place_of(i);
      // The first layer has no layer before it whose output this could be.
      if (place == 0 || known[place]) continue;
      const Elements elements = count_elements(trace_.names.text(detail.input_dims));
      if (elements.first <= 0) continue;
      known[place] = true;
      layers_[place - 1].activation = elements.first * (detail.input_bytes / elements.all);
    }
  }

  ModuleLayers finish() {
    const auto kept = kept_bytes(trace_, layer_calls_, layers_.size());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Layer& layer = layers_[i];
      layer.id = std::to_string(i) + "." + layer.name;
      // The sums are over all micro-batches of all steps.
      layer.forward = sums_[i].forward / passes_;
      layer.backward = sums_[i].backward / passes_;
      layer.parameters = sums_[i].parameters / passes_;
      if (layer.parameters > 0 && !sums_[i].one_piece) {
        const auto weight = static_cast<Nanos>(sums_[i].weight / static_cast<double>(passes_));
        layer.weight = std::min(weight, layer.backward);
      }
      layer.stash = kept ? (*kept)[i] / passes_ : layer.activation;
    }
    return {std::move(layers_), kept.has_value()};
  }

  struct Sums {
    Nanos forward = 0, backward = 0;
    double weight = 0;
    bool one_piece = false;  ///< its backward cannot be split into halves
    Bytes parameters = 0;
  };

  const trace::RankTrace& trace_;
  const trace::Events& events_;
  const graph::Graph& graph_;
  const std::set<std::int64_t> steps_;
  const trace::Launches launches_;
  const WeightWork weights_;
  std::vector<std::uint32_t> roots_;  ///< outermost calls of modules, by time
  std::map<std::uint32_t, std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> calls_;  ///< of layers, by time
  std::vector<LayerCall> layer_calls_;
  std::map<std::uint32_t, std::size_t> place_of_call_;
  std::map<std::int64_t, std::size_t> place_of_sequence_;
  std::int64_t passes_ = 0;
  std::vector<Layer> layers_;
  std::vector<Sums> sums_;
};

}  // namespace

ModuleLayers module_layers(const trace::RankTrace& trace, const predict::Predictor& predictor) {
  return Modules(trace, predictor).run();
}

}  // namespace weft::pipeline::recorded
