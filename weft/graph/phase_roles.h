// SPDX-License-Identifier: Apache-2.0
// Lists the kinds of work in an op timeline, and their names in the timelines of ByteDance's
// straggler study. Private to this room.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "weft/graph/graph.h"

namespace weft::graph {

enum class Role : std::uint8_t {
  kForward,
  kBackward,
  kOtherCompute,  ///< work of an unknown name on the compute track; keeps its recorded place
  kForwardSend,
  kForwardRecv,
  kBackwardSend,
  kBackwardRecv,
  kParamsGather,
  kGradsScatter,
  kGc,
  kLayerNormGrads,
  kEmbeddingGrads,
  kSeparateGrads,
  kClip,
  kOptimizer,
  kUnknown,
};
constexpr std::size_t kRoles = static_cast<std::size_t>(Role::kUnknown);

struct RoleName {
  std::string_view name;
  Role role;
};

inline constexpr std::array<RoleName, 14> kRoleNames = {{
    {"forward-compute", Role::kForward},
    {"backward-compute", Role::kBackward},
    {"forward-send", Role::kForwardSend},
    {"forward-recv", Role::kForwardRecv},
    {"backward-send", Role::kBackwardSend},
    {"backward-recv", Role::kBackwardRecv},
    {"params-all-gather", Role::kParamsGather},
    {"grads-reduce-scatter", Role::kGradsScatter},
    {"gc", Role::kGc},
    {"layernorm-grads-all-reduce", Role::kLayerNormGrads},
    {"embedding-grads-all-reduce", Role::kEmbeddingGrads},
    {"separate-grads-all-reduce", Role::kSeparateGrads},
    {"optimizer-clip-main-grad", Role::kClip},
    {"optimizer", Role::kOptimizer},
}};

constexpr Role role_of(std::string_view name) {
  for (const RoleName& entry : kRoleNames) {
    if (entry.name == name) return entry.role;
  }
  return Role::kUnknown;
}

constexpr bool is_message(Role role) {
  return role >= Role::kForwardSend && role <= Role::kBackwardRecv;
}

/// True if the worker does this work alone. Work of any other role moves data between workers.
constexpr bool is_local(Role role) {
  return role <= Role::kOtherCompute || role == Role::kGc || role == Role::kOptimizer;
}

constexpr CollectiveKind collective_of(Role role) {
  if (is_message(role)) return CollectiveKind::kSendRecv;
  if (role == Role::kParamsGather) return CollectiveKind::kAllGather;
  if (role == Role::kGradsScatter) return CollectiveKind::kReduceScatter;
  return CollectiveKind::kAllReduce;
}

}  // namespace weft::graph
