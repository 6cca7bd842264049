// SPDX-License-Identifier: Apache-2.0
#include "testbed/job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "weft/base/json/document.h"

namespace weft::testbed {
namespace {

Job planned(const char* cluster, JobOptions options) {
  if (options.command.empty()) options.command = {"train"};
  const auto job = plan_job(*read_cluster(cluster), options);
  EXPECT_TRUE(job) << job.error().text();
  return *job;
}

std::vector<std::string> labels(const Job& job) {
  std::vector<std::string> out;
  for (const Process& process : job.processes) out.push_back(process.label);
  return out;
}

TEST(Job, TorchRanksKnowThemselvesAndTheFirst) {
  const Job job = planned("2x1gbit", {.style = Style::kTorch, .per_host = 2});
  EXPECT_EQ(labels(job), (std::vector<std::string>{"r0", "r1", "r2", "r3"}));
  const Process& last = job.processes[3];
  EXPECT_EQ(last.host, 1u);
  EXPECT_EQ(last.environment.at("RANK"), "3");
  EXPECT_EQ(last.environment.at("WORLD_SIZE"), "4");
  EXPECT_EQ(last.environment.at("LOCAL_RANK"), "1");
  EXPECT_EQ(last.environment.at("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(last.environment.at("NODE_RANK"), "1");
  EXPECT_EQ(last.environment.at("MASTER_ADDR"), "10.77.0.1");
  EXPECT_EQ(last.environment.at("GLOO_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(last.defaults.at("OMP_NUM_THREADS"), "1");
}

TEST(Job, PlaceholdersAreReplacedInEveryWord) {
  const Job job = planned("2x", {.style = Style::kPlain,
                                 .command = {"run", "{rank}/{world}@{host}", "{address}{rank}"}});
  EXPECT_EQ(job.processes[1].command, (std::vector<std::string>{"run", "1/2@host1", "10.77.0.21"}));
  EXPECT_TRUE(job.processes[1].environment.empty());
}

TEST(Job, MpiIsOneProcessThatReachesHostsThroughTheAgent) {
  const Job job = planned("2x", {.style = Style::kMpi, .per_host = 3, .command = {"./a", "-np"}});
  ASSERT_EQ(job.processes.size(), 1u);
  EXPECT_TRUE(job.tags_lines);
  const auto& words = job.processes[0].command;
  const auto follows = [&](const char* word) {
    return *(std::find(words.begin(), words.end(), word) + 1);
  };
  EXPECT_EQ(words.front(), "mpirun");
  EXPECT_EQ(follows("--host"), "host0:3,host1:3");
  EXPECT_EQ(follows("-np"), "6");
  EXPECT_EQ(follows("btl"), "tcp,self");
  EXPECT_EQ(follows("plm_rsh_agent"), "/run/weft-testbed/2x/rsh");
  EXPECT_EQ(std::vector(words.end() - 2, words.end()), (std::vector<std::string>{"./a", "-np"}));
}

TEST(Job, PsHasASchedulerServersAndWorkers) {
  const Job job = planned("2x", {.style = Style::kPs, .servers = 3});
  EXPECT_EQ(labels(job),
            (std::vector<std::string>{"scheduler", "server0", "server1", "server2", "r0", "r1"}));
  const Process& server = job.processes[2];
  EXPECT_EQ(server.host, 1u);
  EXPECT_TRUE(server.is_service);
  EXPECT_EQ(server.environment.at("DMLC_ROLE"), "server");
  EXPECT_EQ(server.environment.at("DMLC_NODE_HOST"), "10.77.0.2");
  EXPECT_EQ(server.environment.at("DMLC_NUM_SERVER"), "3");
  EXPECT_EQ(server.environment.at("DMLC_NUM_WORKER"), "2");
  EXPECT_EQ(server.environment.at("DMLC_PS_ROOT_URI"), "10.77.0.1");
  const Process& worker = job.processes[5];
  EXPECT_FALSE(worker.is_service);
  EXPECT_EQ(worker.environment.at("DMLC_ROLE"), "worker");
  EXPECT_EQ(worker.environment.at("DMLC_WORKER_ID"), "1");
}

TEST(Job, HostsForServersHaveNoWorkers) {
  const Job job =
      planned("4x", {.style = Style::kPs, .servers = 2, .server_hosts = {"host0", "host3"}});
  ASSERT_EQ(labels(job), (std::vector<std::string>{"scheduler", "server0", "server1", "r0", "r1"}));
  std::vector<std::size_t> hosts;
  for (const Process& process : job.processes) hosts.push_back(process.host);
  EXPECT_EQ(hosts, (std::vector<std::size_t>{1, 0, 3, 1, 2}));
}

TEST(Job, TensorflowWorkersAloneMakeARing) {
  const Job job = planned("2x", {.style = Style::kTensorflow});
  EXPECT_EQ(labels(job), (std::vector<std::string>{"r0", "r1"}));
  EXPECT_EQ(job.processes[1].environment.at("TF_CONFIG"),
            R"({"cluster":{"worker":["10.77.0.1:2222","10.77.0.2:2223"]},)"
            R"("task":{"type":"worker","index":1}})");
  EXPECT_FALSE(job.processes[1].is_service);
}

TEST(Job, TensorflowServersBringAChiefThatTheOthersServe) {
  const Job job = planned("2x", {.style = Style::kTensorflow, .servers = 1});
  EXPECT_EQ(labels(job), (std::vector<std::string>{"chief", "server0", "r0", "r1"}));
  EXPECT_FALSE(job.processes[0].is_service);
  EXPECT_TRUE(job.processes[1].is_service);
  EXPECT_TRUE(job.processes[3].is_service);
  const auto config = parse_json(job.processes[1].environment.at("TF_CONFIG"), "TF_CONFIG");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->find("task")->find("type")->text, "ps");
  EXPECT_EQ(config->find("cluster")->find("chief")->items.at(0).text, "10.77.0.1:2222");
  EXPECT_EQ(config->find("cluster")->find("worker")->items.size(), 2u);
}

TEST(Job, RanksOnOneGpuClaimHostsOfTheirOwn) {
  auto cluster =
      *parse_cluster(R"({"kind": "one-gpu", "hosts": [{}, {"speed": 0.5}, {}, {}]})", "gpu.json");
  const auto job = plan_job(cluster, {.command = {"train"}});
  ASSERT_TRUE(job);
  const Environment& second = job->processes[1].environment;
  EXPECT_EQ(second.at("NCCL_HOSTID"), "host1");
  EXPECT_EQ(second.at("NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(second.at("NCCL_SHM_DISABLE"), "1");
  EXPECT_EQ(second.at("NCCL_IB_DISABLE"), "1");
  EXPECT_EQ(second.at("NCCL_SOCKET_IFNAME"), "lo");
  EXPECT_EQ(second.at("MASTER_ADDR"), "127.0.0.1");
  EXPECT_EQ(second.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "12");
  EXPECT_EQ(job->processes[0].environment.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "25");
  cluster.mps = false;
  EXPECT_FALSE(plan_job(cluster, {.command = {"train"}})
                   ->processes[0]
                   .environment.contains("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
}

TEST(Job, OptionsThatDoNotFitAreRefused) {
  const Cluster cluster = *read_cluster("2x");
  const JobOptions cases[] = {
      {.style = Style::kTorch, .servers = 1, .command = {"a"}},
      {.style = Style::kPs, .command = {"a"}},
      {.style = Style::kTorch, .per_host = 0, .command = {"a"}},
      {.style = Style::kPs, .servers = 1, .server_hosts = {"host9"}, .command = {"a"}},
      {.style = Style::kPs, .servers = 1, .server_hosts = {"host0", "host1"}, .command = {"a"}},
      {.style = Style::kMpi, .command = {"a", "{rank}"}},
  };
  for (const JobOptions& options : cases) {
    const auto job = plan_job(cluster, options);
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace weft::testbed
