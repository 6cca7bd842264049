// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/recorded/weights.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace weft::pipeline::recorded {
namespace {

using trace::EventKind;
using trace::kNone;

constexpr double kUnknown = -1;

template <std::size_t N>
bool holds_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

/// The share of gradients of weights that the name of a kernel shows. This function knows the names
/// of cuDNN, CUTLASS, MIOpen and PyTorch.
double share_by_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWeights = {"wgrad",      "WrW",       "wrw",
                                                        "bwd_weight", "BwdWeight", "GammaBeta"};
  constexpr std::array<std::string_view, 5> kInputs = {"dgrad", "bwd_data", "BwdData", "grad_input",
                                                       "_bwd_gtc"};
  if (holds_any(name, kWeights)) return 1;
  return holds_any(name, kInputs) ? 0 : kUnknown;
}

bool is_host(EventKind kind) {
  return kind == EventKind::kHostOp || kind == EventKind::kAnnotation ||
         kind == EventKind::kRuntime;
}

}  // namespace

WeightWork::WeightWork(const trace::RankTrace& trace, const trace::Launches& launches)
    : trace_(trace), launches_(launches), children_(trace.events.size()) {
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.kind[i] == EventKind::kHostOp && launches.parent[i] != kNone) {
      children_[launches.parent[i]].push_back(i);
    }
  }
  for (auto& list : children_) {
    std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      return trace.events.start[a] < trace.events.start[b];
    });
  }
}

std::string_view WeightWork::name(std::uint32_t event) const {
  return trace_.names.text(trace_.events.name[event]);
}

bool WeightWork::is_inside(std::uint32_t event, std::string_view node) const {
  for (std::uint32_t above = event; above != kNone; above = launches_.parent[above]) {
    if (name(above).find(node) != std::string_view::npos) return true;
  }
  return false;
}

/// The first shape of an op: 1024 and 4096 for "[[1024, 4096], [4096, 64]]". Empty if shapes were
/// not recorded.
std::vector<std::int64_t> WeightWork::first_dims(std::uint32_t event) const {
  const std::uint32_t detail = trace_.events.detail[event];
  if (detail == kNone) return {};
  const std::string_view text = trace_.names.text(trace_.host_ops[detail].input_dims);
  std::vector<std::int64_t> dims;
  for (std::size_t at = 0; at < text.size() && text[at] != ']';) {
    std::int64_t number = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (read.ec == std::errc()) dims.push_back(number);
    at = read.ec == std::errc() ? static_cast<std::size_t>(read.ptr - text.data()) : at + 1;
  }
  return dims;
}

/// The output gradient of a linear layer has one row per sample, n rows. The gradient of the input
/// is a product with n rows; the gradient of the weights is a product that sums over n, so n is the
/// inner dimension.
double WeightWork::share_of_product(std::uint32_t event) const {
  const std::uint32_t node = launches_.parent[event];
  std::vector<std::uint32_t> products;
  for (const std::uint32_t child : children_[node]) {
    if (name(child) == "aten::mm") products.push_back(child);
  }
  if (products.size() == 2) {
    const bool weights_first = name(node).find("AddmmBackward") == std::string_view::npos;
    return (event == products.front()) == weights_first ? 1 : 0;
  }
  const std::vector<std::int64_t> gradient = first_dims(node), product = first_dims(event);
  if (gradient.size() != 2 || product.size() != 2 || product[0] == product[1]) return 0;
  return product[1] == gradient[0] && product[0] != gradient[0] ? 1 : 0;
}

double WeightWork::share_by_op(std::uint32_t event) const {
  constexpr std::array<std::string_view, 4> kAll = {
      "AccumulateGrad", "EmbeddingBackward", "EmbeddingDenseBackward", "EmbeddingBagBackward"};
  if (trace_.events.kind[event] != EventKind::kHostOp) return kUnknown;
  const std::string_view op = name(event);
  if (holds_any(op, kAll)) return 1;
  const std::uint32_t node = launches_.parent[event];
  if (op == "aten::mm" && node != kNone &&
      holds_any(name(node), std::array<std::string_view, 2>{"AddmmBackward", "MmBackward"})) {
    return share_of_product(event);
  }
  if (op == "aten::sum" &&
      (is_inside(event, "AddmmBackward") || is_inside(event, "ConvolutionBackward"))) {
    return 1;
  }
  if (op == "aten::convolution_backward") return 0.5;
  return kUnknown;
}

double WeightWork::share_of_host(std::uint32_t event) const {
  const double known = share_by_op(event);
  if (known != kUnknown) return known;
  // If an op itself shows nothing, add up what the ops inside it show.
  double weights = 0;
  for (const std::uint32_t child : children_[event]) {
    weights += share_of_host(child) * static_cast<double>(trace_.events.duration[child]);
  }
  const auto all = static_cast<double>(trace_.events.duration[event]);
  return all > 0 ? std::min(1.0, weights / all) : 0;
}

/// PyTorch's own autograd nodes end in a number (AddmmBackward0); the nodes of user functions do
/// not.
bool WeightWork::is_one_piece(std::uint32_t event) const {
  const bool on_host = is_host(trace_.events.kind[event]);
  for (std::uint32_t above = on_host ? event : launches_.launcher[event]; above != kNone;
       above = launches_.parent[above]) {
    if (name(above).ends_with("Backward")) return true;
  }
  return false;
}

double WeightWork::share(std::uint32_t event) const {
  if (is_host(trace_.events.kind[event])) return share_of_host(event);
  const double known = share_by_kernel(name(event));
  if (known != kUnknown) return known;
  // The kernel's name shows nothing: ask the host ops around its launch, from the inside out.
  for (std::uint32_t above = launches_.launcher[event]; above != kNone;
       above = launches_.parent[above]) {
    const double by_op = share_by_op(above);
    if (by_op != kUnknown) return by_op;
  }
  return 0;
}

}  // namespace weft::pipeline::recorded
