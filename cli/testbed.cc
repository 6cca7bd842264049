// SPDX-License-Identifier: Apache-2.0
// `weft testbed ACTION CLUSTER`: makes clusters of network namespaces on one machine and runs jobs
// on them. The code in the folder testbed does the work. This file reads the arguments and reports
// errors. If a cluster was made for one run only, this file also removes it after the run.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/shell/format.h"
#include "cli/shell/interrupt.h"
#include "testbed/cluster.h"
#include "testbed/enter.h"
#include "testbed/job.h"
#include "testbed/run.h"
#include "testbed/standing.h"
#include "weft/base/check.h"
#include "weft/base/sink.h"

namespace weft::cli {
namespace {

using testbed::Cluster;
using testbed::Lifetime;
using testbed::Standing;

/// The first Ctrl-C asks the ranks to end, and the second Ctrl-C kills them. In these two cases the
/// cluster is still removed. The third Ctrl-C ends Weft at once.
constexpr int kSignalsToEnd = 3;

/// Reads CLUSTER: a file, the short form, or the name of a cluster that is up.
Result<Cluster> described(const std::string& input) {
  std::error_code error;
  if (!testbed::is_short_form(input) && !std::filesystem::exists(input, error)) {
    WEFT_ASSIGN(const std::optional<Standing> up, testbed::find_standing(input));
    if (up) return up->cluster;
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no cluster '{}': it is neither the name of a cluster that is "
                            "up, nor a file, nor a short description such as 4x1gbit",
                            input));
  }
  return testbed::read_cluster(input);
}

/// The name of CLUSTER. Works even if the file is malformed by now, so that `down` can still remove
/// the cluster.
std::string name_of(const std::string& input) {
  std::error_code error;
  if (!testbed::is_short_form(input) && !std::filesystem::exists(input, error)) return input;
  const auto cluster = testbed::read_cluster(input);
  return cluster ? cluster->name : input;
}

Result<ExitCode> up(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const Cluster cluster, described(arguments.inputs.at(1)));
  if (cluster.kind == testbed::Kind::kOneGpu) {
    return fail(ErrorCode::kUsage,
                "a cluster of kind one-gpu has no hosts, so there is nothing to bring up; use weft "
                "testbed run");
  }
  const NoExitTimeout no_timeout(kSignalsToEnd);
  WEFT_TRY(testbed::bring_up(cluster, Lifetime::kUntilTakenDown));
  console.notes =
      fmt::format("cluster {0} is up; to use it: weft testbed run {0} -- COMMAND\n", cluster.name);
  return ExitCode::kDone;
}

Result<ExitCode> down(const Arguments& arguments, Console&) {
  const NoExitTimeout no_timeout(kSignalsToEnd);
  WEFT_TRY(testbed::take_down(name_of(arguments.inputs.at(1))));
  return ExitCode::kDone;
}

Result<ExitCode> list(const Arguments&, Console& console) {
  WEFT_ASSIGN(const std::vector<Standing> clusters, testbed::standing_clusters());
  Table table({{"cluster", Align::kLeft},
               {"hosts", Align::kRight},
               {"rates", Align::kLeft, true},
               {"lifetime", Align::kLeft}});
  for (const Standing& one : clusters) {
    std::string rates;
    std::int64_t before = -1;
    for (const testbed::Host& host : one.cluster.hosts) {
      if (host.rate == before) continue;
      rates += (rates.empty() ? "" : ", ") + (host.rate > 0 ? testbed::print_rate(host.rate) : "-");
      before = host.rate;
    }
    table.add_row({one.cluster.name, std::to_string(one.cluster.hosts.size()), rates,
                   one.lifetime == Lifetime::kOfThisProcess ? "one run" : "until taken down"});
  }
  console.result = table.print(console.out);
  return ExitCode::kDone;
}

Result<ExitCode> enter(const Arguments& arguments, Console&) {
  WEFT_ASSIGN(const std::optional<Standing> up,
              testbed::find_standing(name_of(arguments.inputs[1])));
  if (!up) {
    return fail(
        ErrorCode::kNotFound,
        fmt::format("no cluster '{}' is up; weft testbed up makes one", arguments.inputs[1]));
  }
  if (arguments.inputs.size() < 3) {
    return fail(ErrorCode::kUsage, "the host is missing: weft testbed enter CLUSTER HOST");
  }
  WEFT_ASSIGN(const std::size_t host, testbed::find_host(up->cluster, arguments.inputs[2]));
  std::vector<std::string> command(arguments.inputs.begin() + 3, arguments.inputs.end());
  if (command.empty()) command = {"/bin/sh", "-i"};
  return testbed::execute_on(up->cluster, host, command);
}

Result<testbed::JobOptions> read_job(const Arguments& arguments) {
  testbed::JobOptions options;
  if (arguments.has("--style")) {
    WEFT_ASSIGN(options.style, testbed::parse_style(arguments.all("--style").back()));
  }
  options.per_host = static_cast<int>(arguments.whole("--per-host").value_or(1));
  options.servers = static_cast<int>(arguments.whole("--servers").value_or(0));
  options.server_hosts = arguments.all("--server-host");
  options.command.assign(arguments.inputs.begin() + 2, arguments.inputs.end());
  if (options.command.empty()) {
    return fail(ErrorCode::kUsage, "the command is missing: weft testbed run CLUSTER -- COMMAND");
  }
  return options;
}

/// Applies --slow, --rate and --skew to the description.
Status change(Cluster& cluster, const Arguments& arguments) {
  for (const std::string& setting : arguments.all("--slow")) {
    WEFT_TRY(testbed::set_speed(cluster, setting));
  }
  for (const std::string& setting : arguments.all("--rate")) {
    WEFT_TRY(testbed::set_rate(cluster, setting));
  }
  for (const std::string& setting : arguments.all("--skew")) {
    WEFT_TRY(testbed::set_clock(cluster, setting));
  }
  return {};
}

/// The cluster of one run. If the cluster is up, its links and speeds are changed for the time of
/// the run. Otherwise a cluster is made for the run and removed after it. Call clear() at the end;
/// if Weft is killed before, the next `weft testbed` removes what is left.
class ClusterOfRun {
 public:
  static Result<ClusterOfRun> set(Cluster cluster, const Arguments& arguments) {
    ClusterOfRun prepared;
    if (cluster.kind == testbed::Kind::kOneGpu) {
      WEFT_TRY(change(cluster, arguments));
      prepared.cluster_ = std::move(cluster);
      return prepared;
    }
    WEFT_ASSIGN(std::optional<Standing> up, testbed::find_standing(cluster.name));
    if (up && up->lifetime == Lifetime::kUntilTakenDown) {
      if (up->cluster != cluster) {
        return fail(
            ErrorCode::kUsage,
            fmt::format(
                "cluster '{0}' is up, but with a different description; take it down first: "
                "weft testbed down {0}",
                cluster.name));
      }
      WEFT_ASSIGN(prepared.lock_, testbed::reserve(cluster.name));
      if (!prepared.lock_) {
        return fail(ErrorCode::kUsage,
                    fmt::format("cluster '{}' is in use by another run", cluster.name));
      }
      prepared.usual_ = cluster;
      WEFT_TRY(change(cluster, arguments));
      WEFT_TRY(testbed::apply_settings(cluster));
    } else {
      WEFT_TRY(change(cluster, arguments));
      // The process id makes the name unique: several runs may use the same description at once.
      cluster.name += fmt::format("-{}", ::getpid());
      WEFT_ASSIGN(prepared.lock_, testbed::bring_up(cluster, Lifetime::kOfThisProcess));
      prepared.is_own_ = true;
    }
    prepared.cluster_ = std::move(cluster);
    return prepared;
  }
  ClusterOfRun(ClusterOfRun&&) = default;
  ClusterOfRun& operator=(ClusterOfRun&&) = default;

  const Cluster& cluster() const { return cluster_; }

  Status clear() {
    if (is_own_) return testbed::take_down(cluster_.name);
    return usual_ ? testbed::apply_settings(*usual_) : Status{};
  }

 private:
  ClusterOfRun() = default;

  Cluster cluster_;
  std::optional<Cluster> usual_;  ///< the settings to restore, for a cluster that stays up
  std::optional<testbed::Lock> lock_;
  bool is_own_ = false;
};

Result<ExitCode> run(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const testbed::JobOptions options, read_job(arguments));
  WEFT_ASSIGN(Cluster cluster, described(arguments.inputs[1]));
  const NoExitTimeout no_timeout(kSignalsToEnd);
  WEFT_ASSIGN(ClusterOfRun prepared, ClusterOfRun::set(std::move(cluster), arguments));
  testbed::RunOptions how;
  how.grace = arguments.whole("--grace").value_or(5) * kSecond;
  how.interrupts = interrupt_count;
  const auto out = descriptor_sink(STDOUT_FILENO, "stdout");
  const auto err = descriptor_sink(STDERR_FILENO, "stderr");
  how.line = [&](const std::string& label, bool is_error, std::string_view line) {
    // The job goes on even if the reader of stdout has closed its end.
    (void)(is_error ? err : out)->write(fmt::format("{}| {}\n", label, line));
  };
  const auto outcome = [&]() -> Result<testbed::Outcome> {
    WEFT_ASSIGN(const testbed::Job job, testbed::plan_job(prepared.cluster(), options));
    return testbed::run_job(prepared.cluster(), job, how);
  }();
  // Clean up before any error is returned. If the job and the clean-up failed, report the failure
  // of the job: it explains more.
  const Status cleared = prepared.clear();
  if (!outcome) return tl::unexpected(outcome.error());
  if (outcome->status == 0) {
    WEFT_TRY(cleared);
  } else {
    console.notes = fmt::format("{} failed with status {}\n", outcome->failed, outcome->status);
  }
  return static_cast<ExitCode>(outcome->status);
}

struct Action {
  const char* name;
  Result<ExitCode> (*run)(const Arguments&, Console&);
  bool takes_cluster = true;
};
constexpr Action kActions[] = {
    {"up", up}, {"run", run}, {"down", down}, {"enter", enter}, {"list", list, false}};

std::vector<std::string> action_names() {
  std::vector<std::string> names;
  for (const Action& action : kActions) names.emplace_back(action.name);
  return names;
}

Result<ExitCode> run_testbed(const Arguments& arguments, Console& console) {
  const std::string& name = arguments.inputs.front();
  const auto* action = std::find_if(std::begin(kActions), std::end(kActions),
                                    [&](const Action& one) { return name == one.name; });
  WEFT_CHECK(action != std::end(kActions));  // the parser has refused all other names
  if (action->takes_cluster && arguments.inputs.size() < 2) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("CLUSTER is missing: weft testbed {} CLUSTER (see weft help testbed)", name));
  }
  return action->run(arguments, console);
}

}  // namespace

Subcommand testbed_command() {
  Subcommand command;
  command.name = "testbed";
  command.description = "makes a cluster of virtual hosts on this machine and runs jobs";
  command.inputs = "up|run|down|enter|list [CLUSTER]";
  command.min_inputs = 1;
  command.input_choices = action_names;
  command.first_input_only = true;
  command.details =
      "Each host is a network namespace with a rate-limited link to a switch. CLUSTER is a file "
      "(docs/formats/cluster.md), the name of a cluster that is up, or a short description such as "
      "4x1gbit: four hosts with links of 1 Gbit/s. Needs root.\n"
      "\n"
      "  run CLUSTER -- COMMAND           run COMMAND on every host\n"
      "  up CLUSTER                       make a cluster that stays until it is taken down\n"
      "  down CLUSTER                     take it down\n"
      "  enter CLUSTER HOST [-- COMMAND]  open a shell, or run COMMAND, on one host\n"
      "  list                             show the clusters that are up\n"
      "\n"
      "If CLUSTER is not up, run makes it and removes it afterwards. run replaces {rank}, {world}, "
      "{host} and {address} in COMMAND. Its exit status is that of the rank that failed first.";
  command.examples = {
      Example{"weft testbed run 4x1gbit -- python train.py", "one rank on each of four hosts"},
      Example{"weft testbed run 2x1gbit --slow host1=0.5 -- python train.py",
              "two hosts, one of which is half as fast"}};
  command.flags = {
      {"--style", "S",
       "how ranks find each other: torch, mpi, ps, tensorflow or plain; default: torch",
       Flag::Value::kChoice, false, testbed::style_names()},
      {"--per-host", "N", "number of ranks per host; default: 1", Flag::Value::kWhole},
      {"--servers", "N", "number of parameter servers, for the styles ps and tensorflow",
       Flag::Value::kWhole},
      {"--server-host", "HOST", "a host that runs only parameter servers, no ranks",
       Flag::Value::kText, true},
      {"--slow", "[HOST=]SPEED", "limit the CPU time of a host: 0.5 makes it half as fast",
       Flag::Value::kText, true},
      {"--rate", "[HOST=]RATE", "the rate of a host's link, such as 500mbit", Flag::Value::kText,
       true},
      {"--skew", "[HOST=]CLOCK", "make a host's clock wrong by an offset and a drift: +50ms,50ppm",
       Flag::Value::kText, true},
      {"--grace", "S",
       "if a rank fails, the other ranks are ended after this many seconds; default: 5",
       Flag::Value::kWhole}};
  command.run = run_testbed;
  return command;
}

}  // namespace weft::cli
