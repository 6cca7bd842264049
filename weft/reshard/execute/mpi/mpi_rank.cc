// SPDX-License-Identifier: Apache-2.0
// The program that each rank runs in the tests of the MPI transport
// (tests/cli/test_reshard_mpi.py). It is called with `reshard_mpi_rank TRANSPORT` and two more
// arguments:
//
// - `right SEEDS`: runs random problems on all ranks and checks the results.
// - `cast SEEDS`: does the same, with casts during redistribution.
// - `killed RANK`: that rank is killed during a run.
// - `different RANK`: that rank runs another program than the others.
//
// TRANSPORT is `shared`, which connect_mpi() chooses by itself on one host, or `messages`.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <thread>

#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/host/ends.h"
#include "weft/reshard/execute/mpi/mpi.h"
#include "weft/reshard/execute/program/footprint.h"
#include "weft/reshard/execute/program/naive_cast.h"
#include "weft/reshard/execute/program/naive_run.h"
#include "weft/reshard/layout/random_problem.h"
#include "weft/reshard/search/planner.h"

namespace weft::reshard::execute {
namespace {

using namespace std::chrono_literals;

int rank = 0, ranks = 1;

Problem some_problem(unsigned seed) {
  std::mt19937 random(seed);
  const std::int64_t size = ranks;
  const Mesh flat = *make_mesh({{"x", size}}, {});
  const Mesh square = size % 2 == 0 ? *make_mesh({{"x", size / 2}, {"y", 2}}, {}) : flat;
  Shape shape(1 + random() % 3);
  for (std::int64_t& extent : shape) extent = static_cast<std::int64_t>(random() % 30);
  const bool partial = random() % 2 == 0;
  const Mesh& from = random() % 2 == 0 ? flat : square;
  const Mesh& to = random() % 2 == 0 ? flat : square;
  return *make_problem(shape, sizeof(naive::Number),
                       random_sharding(random, from, shape.size(), partial),
                       random_sharding(random, to, shape.size(), partial), SplitRule::kCeilFlat);
}

struct Planned {
  Planned(Problem given, Picos message, Bytes budget, bool at_one_place = false)
      : problem(std::move(given)), in_place(at_one_place) {
    const ProgramOptions how{.budget = budget, .in_place = in_place};
    PlannerOptions options;
    options.link.step = 0;
    options.link.message = message;
    auto found = make_plan_for(problem, options, how);
    if (!found) {
      program = tl::unexpected(found.error());
      return;
    }
    plan = std::move(*found);
    arrays = {{&problem, &plan, {"u32", ""}}};
    program = make_program(arrays, rank, how);
    if (program) memory = naive::fill({*program}, arrays).front();
  }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  Result<Usage> run(Transport& transport) {
    Buffers buffers;
    for (int i = 0; i < 2; ++i) buffers.push_back(reinterpret_cast<std::byte*>(memory[i].data()));
    return execute(*program, buffers, transport);
  }

  /// On rank 0: what is wrong with the targets of all ranks. Empty if nothing is wrong.
  std::string check() {
    std::vector<naive::Memory> all(ranks);
    const std::vector<naive::Number>& mine = memory[in_place ? 0 : 1];
    for (int sender = 0; sender < ranks; ++sender) {
      auto count = static_cast<std::int64_t>(mine.size());
      MPI_Bcast(&count, 1, MPI_INT64_T, sender, MPI_COMM_WORLD);
      std::vector<naive::Number> target = mine;
      target.resize(static_cast<std::size_t>(count));
      MPI_Bcast(target.data(), static_cast<int>(count), MPI_UINT32_T, sender, MPI_COMM_WORLD);
      all[sender] = {target, target};
    }
    return rank == 0 ? naive::check(all, arrays, in_place) : "";
  }

  Problem problem;
  bool in_place;
  Plan plan;
  std::vector<Array> arrays;
  Result<Program> program;
  naive::Memory memory;
};

int run_right(Transport& transport, unsigned seeds) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const Bytes budget = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 100 : 3000;
    Planned planned(some_problem(seed), seed % 2 == 0 ? 0 : 2'000'000, budget, seed % 4 > 1);
    if (!planned.program) continue;  // the same on all ranks
    const auto usage = planned.run(transport);
    if (!usage || (budget > 0 && usage->staging_peak > budget)) {
      std::printf("seed %u: %s\n", seed,
                  usage ? "too much staging" : usage.error().message.c_str());
      return 1;
    }
    const std::string wrong = planned.check();
    if (!wrong.empty()) {
      std::printf("seed %u: %s\n", seed, wrong.c_str());
      return 1;
    }
  }
  if (rank == 0) std::printf("right\n");
  return 0;
}

/// Whether no rank has found an error. A rank that has found an error prints it.
bool all_right(unsigned seed, const std::string& wrong) {
  if (!wrong.empty()) std::printf("seed %u: %s\n", seed, wrong.c_str());
  int right = wrong.empty() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return right == 1;
}

int run_casts(Transport& transport, unsigned seeds) {
  int ran = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    Problem problem = some_problem(seed);
    if (problem.target.partial()) continue;
    const auto& [from, to] = naive::kCasts[seed % std::size(naive::kCasts)];
    if (!set_types(problem, from, to)) return 1;
    const Bytes budget = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 200 : 3000;
    PlannerOptions options;
    options.link.message = seed % 2 == 0 ? 0 : 2'000'000;
    const auto plan = make_plan_within(problem, options, budget);
    if (!plan) continue;  // the same on all ranks
    const auto program = make_program({{&problem, &*plan, {}}}, rank, {.budget = budget});
    if (!program) continue;
    ++ran;
    const naive::Bytestring given = naive::cast_source(problem, rank);
    naive::Bytestring source = given;
    naive::Bytestring target(static_cast<std::size_t>(end_bytes(*program, 1)), std::byte{0x5A});
    const auto usage = execute(*program, {source.data(), target.data()}, transport);
    const std::string wrong = !usage                                       ? usage.error().message
                              : budget > 0 && usage->staging_peak > budget ? "too much staging"
                              : source != given ? "the source has changed"
                                                : naive::check_cast(problem, rank, target);
    if (!all_right(seed, wrong)) return 1;
  }
  if (rank == 0) std::printf("right, %s\n", ran > static_cast<int>(seeds) / 3 ? "most" : "few");
  return 0;
}

/// Runs until there is an Error, and prints it. Ends the process without MPI_Finalize, which would
/// wait for the lost rank.
[[noreturn]] void run_until_error(Planned& planned, Transport& transport) {
  for (;;) {
    const auto usage = planned.run(transport);
    if (usage) continue;
    std::printf("rank %d: %s\n", rank, usage.error().message.c_str());
    std::fflush(stdout);
    // Other ranks get the abort message only while this process is alive.
    std::this_thread::sleep_for(200ms);
    _exit(usage.error().code == ErrorCode::kPeerFailed ? 0 : 1);
  }
}

int run_mode(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string_view mode = argv[2];
  const int number = std::atoi(argv[3]);
  MpiOptions options;
  options.shared_memory = std::string_view(argv[1]) == "shared";
  options.messages.timeout = mode == "right" || mode == "cast" ? 60s : 2s;
  auto transport = connect_mpi(MPI_Comm_c2f(MPI_COMM_WORLD), options);
  if (!transport) return 1;
  const std::string mesh = "x=" + std::to_string(ranks);
  if (mode == "right") return run_right(**transport, static_cast<unsigned>(number));
  if (mode == "cast") return run_casts(**transport, static_cast<unsigned>(number));
  if (mode == "killed") {
    std::thread killer;
    if (rank == number) {
      killer = std::thread([] {
        std::this_thread::sleep_for(300ms);
        kill(getpid(), SIGKILL);
      });
      killer.detach();
    }
    Planned planned(parsed(mesh.c_str(), "1024,1024", "x,-", "-,x"), 0, 0);
    run_until_error(planned, **transport);
  }
  const char* to = rank == number ? "-,-" : "-,x";
  Planned planned(parsed(mesh.c_str(), "64,64", "x,-", to), 0, 0);
  run_until_error(planned, **transport);
}

}  // namespace
}  // namespace weft::reshard::execute

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &weft::reshard::execute::rank);
  MPI_Comm_size(MPI_COMM_WORLD, &weft::reshard::execute::ranks);
  const int code = weft::reshard::execute::run_mode(argc, argv);
  MPI_Finalize();
  return code;
}
