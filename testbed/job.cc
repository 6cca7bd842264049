// SPDX-License-Identifier: Apache-2.0
#include "testbed/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "testbed/layout.h"
#include "testbed/one_gpu.h"
#include "testbed/standing.h"
#include "weft/base/json/writer.h"
#include "weft/base/suggest.h"

namespace weft::testbed {
namespace {

// Each cluster has its own network, so all ports are free. These are the usual ports.
constexpr int kTorchPort = 29500;
constexpr int kPsPort = 9091;
constexpr int kTensorflowPort = 2222;

struct StyleName {
  const char* name;
  Style style;
};
constexpr StyleName kStyles[] = {{"torch", Style::kTorch},
                                 {"mpi", Style::kMpi},
                                 {"ps", Style::kPs},
                                 {"tensorflow", Style::kTensorflow},
                                 {"plain", Style::kPlain}};

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Numbers the ranks host by host, and assigns servers to hosts in turn. Hosts of --server-host get
/// no ranks.
class Planner {
 public:
  Planner(const Cluster& cluster, const JobOptions& options)
      : cluster_(cluster), options_(options) {}

  Result<Job> plan() {
    WEFT_TRY(choose_hosts());
    job_.world = static_cast<int>(worker_hosts_.size()) * options_.per_host;
    switch (options_.style) {
      case Style::kPlain:
      case Style::kTorch:
        add_ranks();
        break;
      case Style::kMpi:
        WEFT_TRY(add_mpirun());
        break;
      case Style::kPs:
        add_ps();
        break;
      case Style::kTensorflow:
        add_tensorflow();
        break;
    }
    return std::move(job_);
  }

 private:
  Status choose_hosts() {
    const bool may_serve = options_.style == Style::kPs || options_.style == Style::kTensorflow;
    if (!may_serve && (options_.servers > 0 || !options_.server_hosts.empty())) {
      return fail(ErrorCode::kUsage,
                  "--servers and --server-host need --style ps or --style tensorflow");
    }
    if (options_.per_host < 1) return fail(ErrorCode::kUsage, "--per-host must be at least 1");
    if (options_.style == Style::kPs && options_.servers == 0) {
      return fail(ErrorCode::kUsage, "--style ps needs --servers N");
    }
    if (options_.servers == 0 && !options_.server_hosts.empty()) {
      return fail(ErrorCode::kUsage, "--server-host needs --servers N");
    }
    for (const std::string& name : options_.server_hosts) {
      WEFT_ASSIGN(const std::size_t host, find_host(cluster_, name));
      server_hosts_.push_back(host);
    }
    for (std::size_t i = 0; i < cluster_.hosts.size(); ++i) {
      const bool taken =
          std::find(server_hosts_.begin(), server_hosts_.end(), i) != server_hosts_.end();
      if (!taken) worker_hosts_.push_back(i);
    }
    if (worker_hosts_.empty()) {
      return fail(ErrorCode::kUsage, "--server-host names all hosts; leave one for the workers");
    }
    if (server_hosts_.empty()) server_hosts_ = worker_hosts_;
    return {};
  }

  std::size_t host_of_rank(int rank) const {
    return worker_hosts_[static_cast<std::size_t>(rank / options_.per_host)];
  }
  std::size_t host_of_server(int server) const {
    return server_hosts_[static_cast<std::size_t>(server) % server_hosts_.size()];
  }
  std::string address_of(std::size_t host) const {
    return cluster_.kind == Kind::kOneGpu ? "127.0.0.1" : address(host);
  }

  Process& add(std::string label, std::size_t host) {
    Process process;
    process.label = std::move(label);
    process.host = host;
    process.command = options_.command;
    for (std::string& word : process.command) {
      word = replaced(word, "{host}", cluster_.hosts[host].name);
      word = replaced(word, "{address}", address_of(host));
      word = replaced(word, "{world}", std::to_string(job_.world));
    }
    job_.processes.push_back(std::move(process));
    return job_.processes.back();
  }

  Process& add_rank(int rank) {
    Process& process = add(fmt::format("r{}", rank), host_of_rank(rank));
    for (std::string& word : process.command) word = replaced(word, "{rank}", std::to_string(rank));
    // Only ranks need these variables; schedulers and servers use no GPU.
    if (cluster_.kind == Kind::kOneGpu) {
      process.environment = one_gpu_environment(cluster_, process.host, job_.world);
    }
    return process;
  }

  void add_ranks() {
    for (int rank = 0; rank < job_.world; ++rank) {
      Process& process = add_rank(rank);
      if (options_.style == Style::kPlain) continue;
      const int local = rank % options_.per_host;
      const int node = rank / options_.per_host;
      Environment& set = process.environment;
      set["RANK"] = std::to_string(rank);
      set["WORLD_SIZE"] = std::to_string(job_.world);
      set["LOCAL_RANK"] = std::to_string(local);
      set["LOCAL_WORLD_SIZE"] = std::to_string(options_.per_host);
      set["GROUP_RANK"] = set["NODE_RANK"] = std::to_string(node);
      set["MASTER_ADDR"] = address_of(host_of_rank(0));
      set["MASTER_PORT"] = std::to_string(kTorchPort);
      if (cluster_.kind == Kind::kNamespaces) set["GLOO_SOCKET_IFNAME"] = kInterface;
      // One thread per rank, as torchrun sets it, because all ranks share the cores of one machine.
      process.defaults["OMP_NUM_THREADS"] = "1";
    }
  }

  Status add_mpirun() {
    for (const std::string& word : options_.command) {
      if (word.find("{rank}") != std::string::npos || word.find("{host}") != std::string::npos) {
        return fail(ErrorCode::kUsage,
                    "{rank} and {host} cannot be used with --style mpi, because mpirun starts the "
                    "ranks; the job can read OMPI_COMM_WORLD_RANK and its host name instead");
      }
    }
    if (cluster_.kind == Kind::kOneGpu) {
      return fail(ErrorCode::kUsage, "--style mpi needs a cluster of kind 'namespaces'");
    }
    // mpirun starts processes on the other hosts through a script of the cluster (plm_rsh_agent)
    // instead of ssh.
    std::string hosts;
    for (const std::size_t host : worker_hosts_) {
      hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", cluster_.hosts[host].name,
                           options_.per_host);
    }
    Process& process = add("mpirun", worker_hosts_.front());
    std::vector<std::string> words = {
        "mpirun", "--allow-run-as-root",      "--tag-output", "--bind-to", "none",
        "-np",    std::to_string(job_.world), "--host",       hosts};
    const std::pair<const char*, std::string> settings[] = {
        {"plm_rsh_agent", agent_path(cluster_.name)},
        {"btl", "tcp,self"},
        {"btl_tcp_if_include", kSubnet},
        {"oob_tcp_if_include", kSubnet},
        // There may be more ranks than cores, so ranks that wait must yield the core to others.
        {"mpi_yield_when_idle", "1"}};
    for (const auto& [name, value] : settings) words.insert(words.end(), {"--mca", name, value});
    words.insert(words.end(), process.command.begin(), process.command.end());
    process.command = std::move(words);
    process.defaults["OMP_NUM_THREADS"] = "1";
    job_.tags_lines = true;
    return {};
  }

  Process& add_ps_process(Process& process, const char* role) {
    Environment& set = process.environment;
    set["DMLC_ROLE"] = role;
    set["DMLC_PS_ROOT_URI"] = address_of(host_of_rank(0));
    set["DMLC_PS_ROOT_PORT"] = std::to_string(kPsPort);
    set["DMLC_NUM_WORKER"] = std::to_string(job_.world);
    set["DMLC_NUM_SERVER"] = std::to_string(options_.servers);
    set["DMLC_NODE_HOST"] = address_of(process.host);
    if (cluster_.kind == Kind::kNamespaces) set["DMLC_INTERFACE"] = kInterface;
    process.defaults["OMP_NUM_THREADS"] = "1";
    return process;
  }

  void add_ps() {
    add_ps_process(add("scheduler", host_of_rank(0)), "scheduler").is_service = true;
    for (int server = 0; server < options_.servers; ++server) {
      Process& process = add(fmt::format("server{}", server), host_of_server(server));
      add_ps_process(process, "server").is_service = true;
      process.environment["DMLC_SERVER_ID"] = std::to_string(server);
    }
    for (int rank = 0; rank < job_.world; ++rank) {
      Process& process = add_ps_process(add_rank(rank), "worker");
      process.environment["DMLC_WORKER_ID"] = std::to_string(rank);
    }
  }

  /// Every process is one task of TensorFlow. Its TF_CONFIG contains the addresses of all tasks,
  /// and says which task it is. Each task has its own port, because several tasks may share a host.
  void add_tensorflow() {
    std::vector<std::size_t> chief, servers, workers;
    if (options_.servers > 0) chief.push_back(host_of_rank(0));
    for (int i = 0; i < options_.servers; ++i) servers.push_back(host_of_server(i));
    for (int i = 0; i < job_.world; ++i) workers.push_back(host_of_rank(i));
    int port = kTensorflowPort;
    JsonWriter json;
    json.begin_object();
    for (const auto& [type, hosts] :
         {std::pair{"chief", &chief}, {"ps", &servers}, {"worker", &workers}}) {
      if (hosts->empty()) continue;
      json.key(type).begin_array();
      for (const std::size_t host : *hosts) {
        json.value(fmt::format("{}:{}", address_of(host), port++));
      }
      json.end_array();
    }
    const std::string tasks = json.end_object().take();
    const auto place = [&](Process& process, const char* type, int index) -> Process& {
      process.environment["TF_CONFIG"] =
          fmt::format(R"({{"cluster":{},"task":{{"type":"{}","index":{}}}}})", tasks, type, index);
      process.defaults["OMP_NUM_THREADS"] = "1";
      return process;
    };
    if (options_.servers > 0) place(add("chief", chief.front()), "chief", 0);
    for (int i = 0; i < options_.servers; ++i) {
      place(add(fmt::format("server{}", i), host_of_server(i)), "ps", i).is_service = true;
    }
    // If there is a chief, workers execute what the chief sends and never end by themselves. So
    // they count as services.
    for (int i = 0; i < job_.world; ++i) {
      place(add_rank(i), "worker", i).is_service = options_.servers > 0;
    }
  }

  const Cluster& cluster_;
  const JobOptions& options_;
  std::vector<std::size_t> worker_hosts_;
  std::vector<std::size_t> server_hosts_;
  Job job_;
};

}  // namespace

Result<Style> parse_style(const std::string& name) {
  for (const StyleName& known : kStyles) {
    if (name == known.name) return known.style;
  }
  return fail(ErrorCode::kUsage,
              fmt::format("no style '{}'{}", name, did_you_mean(name, style_names())));
}

std::vector<std::string> style_names() {
  std::vector<std::string> names;
  for (const StyleName& known : kStyles) names.emplace_back(known.name);
  return names;
}

Result<Job> plan_job(const Cluster& cluster, const JobOptions& options) {
  return Planner(cluster, options).plan();
}

}  // namespace weft::testbed
