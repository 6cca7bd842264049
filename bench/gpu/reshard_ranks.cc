// SPDX-License-Identifier: Apache-2.0
// Plain C functions that run programs over NCCL, for reshard_nccl.py. Its ranks are processes of
// PyTorch, so Weft and DTensor run in alternation on the same GPU and with the same NCCL library.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/nccl/transport.h"
#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/layout/text.h"
#include "weft/reshard/search/planner.h"

namespace {

using namespace weft;
using namespace weft::reshard;
using namespace weft::reshard::execute;

struct Session {
  std::unique_ptr<Transport> transport;
  Device rank = 0;
};

/// An array to move, and everything that the move needs.
struct Redistribution {
  Problem problem;
  Plan plan;
  Elements elements;
  Program program;
};

constexpr std::size_t kErrorBytes = 256;

int failed(const Error& error, char* text) {
  std::snprintf(text, kErrorBytes, "%s", error.text().c_str());
  return 1;
}

Result<std::unique_ptr<Redistribution>> make_redistribution(const char* const* words,
                                                            Bytes item_size, Device rank,
                                                            Bytes budget) {
  const auto [axes, size, from, from_partial, to, to_partial, type, reduction] =
      std::tuple{words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
  auto redistribution = std::make_unique<Redistribution>();
  WEFT_ASSIGN(const Mesh mesh, parse_mesh(axes, ""));
  WEFT_ASSIGN(const Shape shape, parse_shape(size));
  WEFT_ASSIGN(const Sharding source, parse_sharding(mesh, from, from_partial));
  WEFT_ASSIGN(const Sharding target, parse_sharding(mesh, to, to_partial));
  WEFT_ASSIGN(redistribution->problem,
              make_problem(shape, item_size, source, target, SplitRule::kCeilNested));
  redistribution->elements = {type, reduction, 1, 1};
  PlannerOptions options;
  WEFT_ASSIGN(redistribution->plan, make_plan_within(redistribution->problem, options, budget));
  WEFT_ASSIGN(
      redistribution->program,
      make_program({{&redistribution->problem, &redistribution->plan, redistribution->elements}},
                   rank, {.budget = budget}));
  return redistribution;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int ranks_make_id(char* id, char* error) {
  const auto nccl = nccl::load_nccl("");
  if (!nccl) return failed(nccl.error(), error);
  const auto made = nccl::make_unique_id(*nccl);
  if (!made) return failed(made.error(), error);
  std::memcpy(id, made->bytes.data(), made->bytes.size());
  return 0;
}

int ranks_open(const char* kernels, const char* id, int rank, int ranks, std::int64_t timeout_ms,
               Session** session, char* error) {
  const auto nccl = nccl::load_nccl("");
  if (!nccl) return failed(nccl.error(), error);
  const auto gpu = cuda::load_gpu(kernels);
  if (!gpu) return failed(gpu.error(), error);
  nccl::UniqueId unique;
  std::memcpy(unique.bytes.data(), id, unique.bytes.size());
  auto transport = nccl::connect_nccl(*nccl, *gpu, unique, rank, ranks,
                                      {std::chrono::milliseconds(timeout_ms), nullptr});
  if (!transport) return failed(transport.error(), error);
  *session = new Session{std::move(*transport), rank};
  return 0;
}

void ranks_close(Session* session) { delete session; }

/// `words`: mesh, shape, source, its partial axes, target, its partial axes, type, reduction.
int ranks_plan(const char* const* words, std::int64_t item_size, int rank, std::int64_t budget,
               Redistribution** redistribution, char* error) {
  auto made = make_redistribution(words, item_size, rank, budget);
  if (!made) return failed(made.error(), error);
  *redistribution = made->release();
  return 0;
}

void ranks_forget(Redistribution* redistribution) { delete redistribution; }

/// The size in bytes of the device's source (if `end` is 0) or target (if it is 1).
std::int64_t ranks_bytes(const Redistribution* redistribution, int end) {
  return redistribution->program.buffers[end];
}
std::int64_t ranks_rounds(const Redistribution* redistribution) {
  return static_cast<std::int64_t>(redistribution->program.turns.size());
}

/// Writes for each element that the device holds its index in the whole array.
void ranks_indices(const Redistribution* redistribution, int end, std::int64_t* indices) {
  const Layout& layout = end == 0 ? redistribution->problem.source
                                  : redistribution->plan.last(redistribution->problem);
  naive::for_each_held(layout, redistribution->program.self,
                       [&](std::size_t index) { *indices++ = static_cast<std::int64_t>(index); });
}

/// The group of summands that the device holds, and the number of groups.
void ranks_group(const Redistribution* redistribution, std::int32_t* group, std::int32_t* groups) {
  *group = redistribution->problem.source.group[redistribution->program.self];
  *groups = redistribution->problem.source.groups;
}

int ranks_run(Session* session, const Redistribution* redistribution, void* source, void* target,
              std::int64_t* staging, char* error) {
  const Buffers buffers = {static_cast<std::byte*>(source), static_cast<std::byte*>(target)};
  const auto usage =
      weft::reshard::execute::execute(redistribution->program, buffers, *session->transport);
  if (!usage) return failed(usage.error(), error);
  *staging = usage->staging_peak;
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop
