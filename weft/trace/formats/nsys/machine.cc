// SPDX-License-Identifier: Apache-2.0
// Every fact about the machine is optional: if a table or a value is missing, it stays unknown.
#include "weft/trace/formats/nsys/machine.h"

#include <cctype>
#include <utility>

#include "weft/base/decimal.h"

namespace weft::trace::nsys {
namespace {

/// Variables for rank and world size of torchrun, Open MPI, MPICH and Slurm, in this order of
/// preference. In a Slurm job that runs torchrun, the variables of torchrun and of Slurm are set.
/// The variables of torchrun are then the right ones, because they are set for each process.
constexpr std::pair<std::string_view, std::string_view> kLaunchers[] = {
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"}};

void read_environment(std::string_view environment, Machine& machine) {
  for (const auto& [rank, world] : kLaunchers) {
    machine.rank = variable(environment, rank);
    machine.world = variable(environment, world);
    if (machine.rank >= 0 && machine.world > machine.rank) return;
  }
  machine.rank = machine.world = -1;
}

}  // namespace

std::int32_t variable(std::string_view environment, std::string_view name) {
  for (std::size_t at = environment.find(name); at != std::string_view::npos;
       at = environment.find(name, at + 1)) {
    const bool inside = at > 0 && (std::isalnum(static_cast<unsigned char>(environment[at - 1])) ||
                                   environment[at - 1] == '_');
    std::string_view rest = environment.substr(at + name.size());
    const std::size_t sign = rest.find_first_not_of("\"' ");
    if (inside || sign == std::string_view::npos || (rest[sign] != '=' && rest[sign] != ':')) {
      continue;
    }
    rest.remove_prefix(sign + 1);
    const std::size_t digits = rest.find_first_not_of("\"' ");
    if (digits == std::string_view::npos) continue;
    rest.remove_prefix(digits);
    const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
    // At most 7 digits: no job has ten million ranks, and the number fits into 32 bits.
    if (number.empty() || number.size() > 7) continue;
    return static_cast<std::int32_t>(*parse_int(number));
  }
  return -1;
}

Result<Machine> read_machine(const Database& database) {
  constexpr Nanos kLatest = Nanos{1} << 61;
  constexpr std::int64_t kMostDevices = 1024;
  Machine machine;
  WEFT_ASSIGN(Rows system, database.select("TARGET_INFO_SYSTEM_ENV", {"name", "value"}));
  for (;;) {
    WEFT_ASSIGN(const bool more, system.next());
    if (!more) break;
    if (system.text(0) == "Hostname") machine.host = system.text(1);
    if (system.text(0) == "DeviceEnvironment") read_environment(system.text(1), machine);
  }
  WEFT_ASSIGN(Rows gpus, database.select("TARGET_INFO_GPU", {"cuDevice", "id", "name"}));
  for (;;) {
    WEFT_ASSIGN(const bool more, gpus.next());
    if (!more) break;
    // Kernels name a GPU by its CUDA ordinal. Exports without the column cuDevice have only the id.
    const std::int64_t ordinal = gpus.integer(0, gpus.integer(1, -1));
    if (ordinal < 0 || ordinal >= kMostDevices) continue;
    const auto place = static_cast<std::size_t>(ordinal);
    if (machine.devices.size() <= place) machine.devices.resize(place + 1);
    machine.devices[place] = gpus.text(2);
  }
  // In older exports, times count from the start of the session, and startTime is absent or 0. In
  // newer exports, times count from the boot of the host, and startTime is the time at which the
  // session started.
  Nanos started = 0;
  WEFT_ASSIGN(Rows details, database.select("ANALYSIS_DETAILS", {"startTime"}));
  WEFT_ASSIGN(const bool detailed, details.next());
  if (detailed) started = details.integer(0, 0);
  WEFT_ASSIGN(Rows session, database.select("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}));
  WEFT_ASSIGN(const bool dated, session.next());
  if (dated) {
    const Nanos date = session.integer(0, 0);
    if (date >= 0 && date < kLatest && started >= 0 && started <= date) {
      machine.epoch = date - started;
    }
  }
  return machine;
}

}  // namespace weft::trace::nsys
