// SPDX-License-Identifier: Apache-2.0
// Programs over NCCL behind plain functions, for reshard_nccl.py: ranks there are processes of
// PyTorch, so that Weft and DTensor run in turns on the same GPUs and the same NCCL.
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

/// An array that goes from one layout to another.
struct Job {
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

Result<std::unique_ptr<Job>> make_job(const char* const* words, Bytes item_size, Device rank,
                                      Bytes budget) {
  const auto [axes, size, from, from_partial, to, to_partial, type, reduction] =
      std::tuple{words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
  auto job = std::make_unique<Job>();
  WEFT_ASSIGN(const Mesh mesh, parse_mesh(axes, ""));
  WEFT_ASSIGN(const Shape shape, parse_shape(size));
  WEFT_ASSIGN(const Sharding source, parse_sharding(mesh, from, from_partial));
  WEFT_ASSIGN(const Sharding target, parse_sharding(mesh, to, to_partial));
  WEFT_ASSIGN(job->problem, make_problem(shape, item_size, source, target, SplitRule::kCeilNested));
  job->elements = {type, reduction, 1, 1};
  PlannerOptions options;
  WEFT_ASSIGN(job->plan, make_plan_within(job->problem, options, budget));
  WEFT_ASSIGN(job->program,
              make_program({{&job->problem, &job->plan, job->elements}}, rank, {.budget = budget}));
  return job;
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

/// `words`: mesh, shape, from, its partial axes, to, its partial axes, type, reduction.
int ranks_plan(const char* const* words, std::int64_t item_size, int rank, std::int64_t budget,
               Job** job, char* error) {
  auto made = make_job(words, item_size, rank, budget);
  if (!made) return failed(made.error(), error);
  *job = made->release();
  return 0;
}

void ranks_forget(Job* job) { delete job; }

/// Bytes that the device holds before (0) or after (1).
std::int64_t ranks_bytes(const Job* job, int end) { return job->program.buffers[end]; }
std::int64_t ranks_rounds(const Job* job) {
  return static_cast<std::int64_t>(job->program.turns.size());
}

/// For each element that the device holds its index in the whole array.
void ranks_indices(const Job* job, int end, std::int64_t* indices) {
  const Layout& layout = end == 0 ? job->problem.source : job->plan.last(job->problem);
  naive::for_each_held(layout, job->program.self,
                       [&](std::size_t index) { *indices++ = static_cast<std::int64_t>(index); });
}

/// Which summands the device holds, of how many groups.
void ranks_group(const Job* job, std::int32_t* group, std::int32_t* groups) {
  *group = job->problem.source.group[job->program.self];
  *groups = job->problem.source.groups;
}

int ranks_run(Session* session, const Job* job, void* source, void* target, std::int64_t* staging,
              char* error) {
  const Buffers buffers = {static_cast<std::byte*>(source), static_cast<std::byte*>(target)};
  const auto usage = weft::reshard::execute::execute(job->program, buffers, *session->transport);
  if (!usage) return failed(usage.error(), error);
  *staging = usage->staging_peak;
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop
