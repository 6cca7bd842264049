// SPDX-License-Identifier: Apache-2.0
// Compares Weft over MPI with MPI_Alltoallw with subarray types, on problems from the tests of
// other projects. A measured time is that of moving the data from the input array to the output
// array. Plans and MPI types are made before the measurement.
//
//   * Weft and Alltoallw take turns within one run, so both have the same share of the machine.
//   * Calls that take microseconds are made many times per turn, back to back, and get more turns.
//     This keeps clocks, barriers, and the work of a rank after its call out of the measurement.
//   * The measured calls contain no barrier: a rank returns when it has received everything. The
//     column "alone" is for single calls that each follow a barrier.
//   * Alltoallw gets two turns and is also compared with itself (column "itself"). How far this
//     ratio is from 1 shows the noise.
//   * If there are more ranks than cores, wall time depends on the scheduler. So the processor time
//     of all ranks is reported as well ("processor").
//
// bench/reshard_mpi.sh starts it on several numbers of ranks. Exit status: 0 at least parity in the
// geometric mean, 1 below, 4 if the file has no cases for this number of ranks.
//
//   mpirun -n 8 reshard_mpi CASES.json [BYTES_PER_DEVICE [CASES [REPEATS]]]
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "weft/base/median.h"
#include "weft/reshard/execute/execute.h"
#include "weft/reshard/execute/mpi/mpi.h"
#include "weft/reshard/layout/cases.h"
#include "weft/reshard/search/bounds.h"
#include "weft/reshard/search/planner.h"

namespace {

using namespace weft;
using namespace weft::reshard;

int rank = 0, ranks = 1;
/// A scaled problem may have at most this many times the requested bytes.
constexpr Bytes kMostTimes = 16;

/// Returns the problem, enlarged to at least `local` bytes per device: its dimensions are doubled
/// in turn. Returns nothing if the problem does not use all ranks, does not divide evenly, moves
/// nothing, or gets too large.
std::optional<Problem> scaled(const Problem& problem, Bytes local) {
  if (!problem.source_type || !problem.target_type) return {};
  if (problem.source.partial() || problem.target.partial()) return {};
  if (problem.devices.size() != static_cast<std::size_t>(ranks) || problem.shape.empty()) return {};
  if (elements(problem.shape) == 0 || bounds(problem).recv_max == 0) return {};
  Shape shape = problem.shape;
  for (std::size_t dim = 0;; dim = (dim + 1) % shape.size()) {
    auto larger = make_problem(shape, problem.item_size, *problem.source_type, *problem.target_type,
                               SplitRule::kCeilFlat);
    if (!larger || larger->devices != problem.devices) return {};
    for (const Layout* layout : {&larger->source, &larger->target}) {
      for (const auto& cut : layout->cuts) {
        for (const std::int64_t length : cut->lengths) {
          if (length != cut->lengths[0]) return {};  // uneven, or some device holds nothing
        }
      }
    }
    const Bytes memory = bounds(*larger).memory * problem.item_size;
    if (memory > kMostTimes * local) return {};
    if (memory >= local) return *larger;
    shape[dim] *= 2;
  }
}

/// The MPI type of `part`, which is a region inside part `whole` of a layout. It describes where
/// the elements of `part` are in the memory of `whole`.
MPI_Datatype type_of(const Layout& layout, Part whole, const std::vector<Strips>& part,
                     Bytes item) {
  std::vector<MPI_Datatype> types;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(item), MPI_BYTE, &element);
  for_each_box(part, [&](const Box& box) {
    std::vector<int> sizes, extents, starts;
    for (std::size_t i = 0; i < box.size(); ++i) {
      const Strips& strips = layout.cuts[i]->piece(whole);
      std::int64_t start = 0;
      for (const Interval& strip : strips) {
        start += std::max<std::int64_t>(0, std::min(strip.high, box[i].low) - strip.low);
      }
      sizes.push_back(static_cast<int>(length(strips)));
      extents.push_back(static_cast<int>(box[i].length()));
      starts.push_back(static_cast<int>(start));
    }
    MPI_Type_create_subarray(static_cast<int>(box.size()), sizes.data(), extents.data(),
                             starts.data(), MPI_ORDER_C, element, &types.emplace_back());
  });
  const std::vector<int> ones(types.size(), 1);
  const std::vector<MPI_Aint> nowhere(types.size(), 0);
  MPI_Datatype all = MPI_DATATYPE_NULL;
  if (types.size() == 1) {
    all = types[0];
  } else {
    MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), nowhere.data(),
                           types.data(), &all);
  }
  MPI_Type_commit(&all);
  return all;
}

/// The whole exchange as one MPI_Alltoallw. Each piece comes from the same sender as in Weft.
struct Alltoallw {
  explicit Alltoallw(const Problem& problem) : send(side()), receive(side()) {
    OverlapCache overlaps(problem.node_of);
    const auto shared = [&](Part from, Part to) {
      std::vector<Strips> dims;
      for (std::size_t i = 0; i < problem.shape.size(); ++i) {
        dims.push_back(
            intersect(problem.source.cuts[i]->piece(from), problem.target.cuts[i]->piece(to)));
      }
      return dims;
    };
    const auto add = [&](Device from, Device to) {
      const std::vector<Strips> dims = shared(from, to);
      if (std::any_of(dims.begin(), dims.end(), [](const Strips& s) { return s.empty(); })) return;
      if (from == rank) send.set(to, type_of(problem.source, from, dims, problem.item_size));
      if (to == rank) receive.set(from, type_of(problem.target, to, dims, problem.item_size));
    };
    for (const Piece& piece : pieces_of(rank, problem.source, problem.target, overlaps)) {
      add(piece.from, piece.to);
    }
    add(rank, rank);
  }

  void run(const std::byte* source, std::byte* target) const {
    MPI_Alltoallw(source, send.counts.data(), send.offsets.data(), send.types.data(), target,
                  receive.counts.data(), receive.offsets.data(), receive.types.data(),
                  MPI_COMM_WORLD);
  }

  struct Side {
    std::vector<int> counts, offsets;
    std::vector<MPI_Datatype> types;
    void set(Device peer, MPI_Datatype type) {
      counts[peer] = 1;
      types[peer] = type;
    }
  };
  static Side side() {
    return {std::vector<int>(ranks, 0), std::vector<int>(ranks, 0),
            std::vector<MPI_Datatype>(ranks, MPI_BYTE)};
  }
  Side send, receive;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The cost of one call: wall seconds of the slowest rank, and processor seconds of all ranks.
struct Cost {
  double wall = 0, processor = 0;
};

/// The mean cost of `calls` calls, back to back. All ranks get the same result.
template <class Work>
Cost timed(const Work& work, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double used = processor_seconds();
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) work();
  Cost cost{(MPI_Wtime() - begin) / calls, (processor_seconds() - used) / calls};
  MPI_Allreduce(MPI_IN_PLACE, &cost.wall, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &cost.processor, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return cost;
}

/// Calls per turn, and the number of rounds; in each round every contestant has one turn.
struct Schedule {
  int calls = 1, rounds = 1;
};

/// The schedule for calls that take `seconds`. Short calls are repeated to fill a turn of 2 ms, and
/// get more rounds, since they are noisier.
Schedule schedule_for(double seconds, int repeats) {
  constexpr double kTurn = 2e-3, kAll = 0.3;
  const double calls = std::clamp(std::ceil(kTurn / seconds), 1.0, 1000.0);
  const double rounds = std::clamp(kAll / (3 * calls * seconds), 1.0, 60.0);
  // A multiple of three, so that each contestant is first, second and third equally often.
  return {static_cast<int>(calls), (std::max(repeats, static_cast<int>(rounds)) + 2) / 3 * 3};
}

/// Medians over all rounds: the time of Alltoallw divided by the time of Weft; the time of
/// Alltoallw divided by its time in its other turn (the control); the processor time of Alltoallw
/// divided by that of Weft; and the times of Alltoallw and Weft.
struct Ratios {
  double weft = 0, control = 0, processor = 0;
  double weft_seconds = 0, mpi_seconds = 0;
};

template <class Weft, class Mpi>
Ratios in_turns(const Weft& weft, const Mpi& mpi, const Schedule& schedule) {
  std::vector<double> weft_times, mpi_times, ratios, controls, processor;
  for (int i = 0; i < schedule.rounds; ++i) {
    Cost costs[3];
    for (int turn = 0; turn < 3; ++turn) {
      const int which = (turn + i) % 3;
      costs[which] = which == 0 ? timed(weft, schedule.calls) : timed(mpi, schedule.calls);
    }
    weft_times.push_back(costs[0].wall);
    mpi_times.push_back(costs[1].wall);
    // A ratio compares two turns of the same round, because these had about the same share of the
    // machine.
    ratios.push_back(costs[1].wall / costs[0].wall);
    controls.push_back(costs[1].wall / costs[2].wall);
    processor.push_back(costs[1].processor / costs[0].processor);
  }
  return {median(ratios), median(controls), median(processor), median(weft_times),
          median(mpi_times)};
}

/// The results for calls that follow each other directly, and for single calls that each follow a
/// barrier.
struct Comparison {
  Ratios in_a_row, alone;
};

/// Measures one problem; rank 0 prints a row of the table.
Comparison compare(const std::string& name, const Problem& problem, int repeats,
                   execute::Transport& transport) {
  const auto plan = make_plan(problem, {});
  const auto program = execute::make_program({{&problem, &*plan, {}}}, rank, {});
  std::vector<std::byte> source(program->buffers[0]), target(program->buffers[1]), other = target;
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<std::byte>(i * 131 + static_cast<std::size_t>(rank) * 17);
  }
  const Alltoallw rival(problem);
  const auto weft = [&] {
    const auto done = execute::execute(*program, {source.data(), target.data()}, transport);
    if (!done) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), done.error().message.c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  };
  const auto mpi = [&] { rival.run(source.data(), other.data()); };
  weft();
  mpi();
  if (target != other) {
    std::fprintf(stderr, "%s: the results differ\n", name.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const Schedule schedule = schedule_for(timed(mpi, 5).wall, repeats);
  Comparison found;
  found.in_a_row = found.alone = in_turns(weft, mpi, schedule);
  if (schedule.calls > 1) found.alone = in_turns(weft, mpi, {1, 3 * schedule.rounds});
  if (rank == 0) {
    const Ratios& row = found.in_a_row;
    const double gigabytes =
        static_cast<double>(bounds(problem).recv_total * problem.item_size) * 1e-9;
    std::printf("| %s | %zu | %.1f | %.4f | %.4f | %.2f | %.2f | %.2f | %.2f |\n", name.c_str(),
                plan->steps.size(), 1e3 * gigabytes, 1e3 * row.weft_seconds, 1e3 * row.mpi_seconds,
                row.weft, row.control, row.processor, found.alone.weft);
    std::fflush(stdout);
  }
  return found;
}

/// Geometric mean and minimum of the ratios of many cases.
struct Summary {
  double logs = 0, least = 1e9;
  void add(double ratio) {
    logs += std::log(ratio);
    least = std::min(least, ratio);
  }
  double mean(std::size_t count) const { return std::exp(logs / static_cast<double>(count)); }
};

int run(int argc, char** argv) {
  if (argc < 2) return 2;
  const Bytes local = argc > 2 ? std::atoll(argv[2]) : 8 << 20;
  const std::size_t most = argc > 3 ? static_cast<std::size_t>(std::atoi(argv[3])) : 12;
  const int repeats = argc > 4 ? std::atoi(argv[4]) : 7;
  const auto cases = read_cases(argv[1]);
  if (!cases) {
    if (rank == 0) std::fprintf(stderr, "%s\n", cases.error().text().c_str());
    return 4;
  }
  std::vector<std::pair<std::string, Problem>> problems;
  std::set<std::pair<Shape, Bytes>> seen;  // one case of each shape and volume is enough
  for (const Case& item : *cases) {
    if (!item.problem) continue;
    if (auto problem = scaled(*item.problem, local)) {
      if (seen.insert({item.problem->shape, bounds(*problem).recv_total}).second) {
        problems.emplace_back(item.id, std::move(*problem));
      }
    }
  }
  if (problems.empty()) {
    if (rank == 0) std::printf("no even cases for %d ranks\n", ranks);
    return 4;
  }
  auto transport = execute::connect_mpi(MPI_Comm_c2f(MPI_COMM_WORLD), {});
  if (!transport) return 1;
  if (rank == 0) {
    std::printf("\n%d ranks, %zu of %zu even cases, %.1f MiB a device\n\n", ranks,
                std::min(most, problems.size()), problems.size(),
                static_cast<double>(local) / (1 << 20));
    std::printf(
        "| case | steps | received MB | Weft ms | Alltoallw ms | ratio | itself | processor | "
        "alone "
        "|\n");
    std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  }
  Summary weft, control, processor, alone;
  const std::size_t count = std::min(most, problems.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [name, problem] = problems[i * problems.size() / count];
    const Comparison found = compare(name, problem, repeats, **transport);
    weft.add(found.in_a_row.weft);
    control.add(found.in_a_row.control);
    processor.add(found.in_a_row.processor);
    alone.add(found.alone.weft);
  }
  if (rank == 0) {
    std::printf(
        "\ngeometric mean %.2f, least %.2f; Alltoallw against itself %.2f, least %.2f; "
        "processor time %.2f, least %.2f; alone %.2f, least %.2f\n",
        weft.mean(count), weft.least, control.mean(count), control.least, processor.mean(count),
        processor.least, alone.mean(count), alone.least);
  }
  return weft.mean(count) >= 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int code = run(argc, argv);
  MPI_Finalize();
  return code;
}
