// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/runs/services.h"

#include <gtest/gtest.h>

#include "weft/trace/made_run.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/runs/server_exchanges.h"

namespace weft::trace {
namespace {

using Job = Run;  // inside a TEST, `Run` is a member of GoogleTest's class

RankTrace trace_of(const std::string& file, Nanos epoch) {
  MadeRank rank(0, 1);
  rank.trace.file = file;
  rank.trace.epoch = epoch;
  rank.host("work", 0, kMillisecond);
  return std::move(rank.trace);
}

TEST(Services, AreRecognisedByTheNamesOfTheirFiles) {
  EXPECT_TRUE(is_service_file("traces/server0.mxnet.json"));
  EXPECT_TRUE(is_service_file("server12.xplane.pb"));
  EXPECT_TRUE(is_service_file("traces/chief.xplane.pb"));
  EXPECT_FALSE(is_service_file("traces/r0.mxnet.json"));
  EXPECT_FALSE(is_service_file("server.json"));
  EXPECT_FALSE(is_service_file("server0-r1.json"));
  EXPECT_FALSE(is_service_file("server0/r1.json"));
}

TEST(Services, BelongToTheRunInTheSameFolder) {
  std::vector<Job> runs(2);
  runs[0].ranks.push_back(trace_of("a/r0.xplane.pb", 0));
  runs[1].ranks.push_back(trace_of("b/r0.xplane.pb", 0));
  std::vector<RankTrace> services;
  services.push_back(trace_of("b/server0.xplane.pb", 0));
  services.push_back(trace_of("c/server0.xplane.pb", 0));
  Diagnostics diagnostics;
  attach_services(runs, services);
  for (Job& run : runs) join_services(run, diagnostics);
  EXPECT_TRUE(runs[0].services.empty());
  ASSERT_EQ(runs[1].services.size(), 1u);
  EXPECT_EQ(runs[1].services[0].rank, -1);
  ASSERT_EQ(services.size(), 1u);
  EXPECT_EQ(services[0].file, "c/server0.xplane.pb");
}

TEST(Services, RanksWithoutStepsUseThoseOfTheChief) {
  std::vector<Job> runs(1);
  runs[0].ranks.push_back(trace_of("r0.xplane.pb", 1000));
  runs[0].ranks.push_back(trace_of("r1.xplane.pb", 1000));
  runs[0].ranks[1].steps.push_back({7, 0, 0, 10});
  std::vector<RankTrace> services;
  services.push_back(trace_of("chief.xplane.pb", 1200));
  services[0].steps.push_back({4, 0, 100, 300});
  Diagnostics diagnostics;
  attach_services(runs, services);
  for (Job& run : runs) join_services(run, diagnostics);
  const RankTrace& rank = runs[0].ranks[0];
  ASSERT_EQ(rank.steps.size(), 1u);
  EXPECT_EQ(rank.steps[0].number, 4);
  EXPECT_EQ(rank.steps[0].start, 300);
  EXPECT_EQ(rank.steps[0].end, 500);
  EXPECT_FALSE(rank.lanes.at(rank.steps[0].lane).on_device);
  EXPECT_EQ(runs[0].ranks[1].steps[0].number, 7);
  EXPECT_EQ(diagnostics.count_of("steps-of-chief"), 1);
}

/// A worker that pulls one tensor and pushes another one in execution 7. The server's clock is
/// 1000 ns ahead. The transfers take 30 and 20 ns.
struct MadeExchange {
  MadeExchange() : worker(1, 2), server(0, 1) {
    worker.trace.host = "host1";
    server.trace.host = "host0";
    receive(worker, "w/_2:_Recv", 100, 50, 4000);
    send(server, "w/_1:_Send", 1115, 5);
    send(worker, "g/_3:_Send", 200, 10);
    receive(server, "g/_4:_Recv", 1050, 180, 4000);
    receive(server, "other/_4:_Recv", 1050, 180, 4000);  // from a worker that was not recorded
  }
  static void send(MadeRank& from, const char* name, Nanos start, Nanos duration) {
    from.trace.events.external_id[from.host(name, start, duration)] = 7;
  }
  static void receive(MadeRank& to, const char* name, Nanos start, Nanos duration, Bytes bytes) {
    const std::uint32_t event = to.annotation(name, start, duration);
    to.trace.events.external_id[event] = 7;
    to.trace.events.detail[event] = static_cast<std::uint32_t>(to.trace.host_ops.size());
    to.trace.host_ops.emplace_back();
    to.trace.host_ops.back().input_bytes = bytes;
  }
  MadeRank worker, server;
};

TEST(ServerExchanges, LastFromTheLaterSideUntilTheReceiverHasTheData) {
  MadeExchange made;
  RankTrace& rank = made.worker.trace;
  const std::size_t before = rank.events.size();
  add_exchanges(rank, made.server.trace, -1000, true);
  ASSERT_EQ(rank.events.size(), before + 2);
  EXPECT_EQ(rank.names.text(rank.events.name[before]), "pull w");
  EXPECT_EQ(rank.events.start[before], 120);
  EXPECT_EQ(rank.events.end(before), 150);
  EXPECT_EQ(rank.names.text(rank.events.name[before + 1]), "push g");
  EXPECT_EQ(rank.events.start[before + 1], 210);
  EXPECT_EQ(rank.events.end(before + 1), 230);
  const auto calls = communication_calls(rank, resolve_launches(rank));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].kind, CollectiveKind::kPushPull);
  EXPECT_EQ(calls[0].bytes, 4000);
  EXPECT_NE(calls[0].group, calls[1].group);
}

TEST(ServerExchanges, OnOneHostAreHostWork) {
  MadeExchange made;
  add_exchanges(made.worker.trace, made.server.trace, -1000, false);
  EXPECT_EQ(made.worker.trace.events.kind.back(), EventKind::kHostOp);
  EXPECT_TRUE(communication_calls(made.worker.trace, resolve_launches(made.worker.trace)).empty());
}

TEST(Services, TheChiefWaitsForAllRanksAtTheEndOfEachStep) {
  std::vector<Job> runs(1);
  runs[0].ranks.push_back(trace_of("r0.xplane.pb", 0));
  runs[0].ranks.push_back(trace_of("r1.xplane.pb", 0));
  std::vector<RankTrace> services;
  services.push_back(trace_of("chief.xplane.pb", 0));
  services[0].steps.push_back({4, 0, 0, 3 * kMillisecond});
  Diagnostics diagnostics;
  attach_services(runs, services);
  join_services(runs[0], diagnostics);
  for (const RankTrace& rank : runs[0].ranks) {
    const auto calls = communication_calls(rank, resolve_launches(rank));
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].kind, CollectiveKind::kBarrier);
    EXPECT_EQ(calls[0].sequence, 4);
    EXPECT_EQ(rank.events.start[calls[0].event], kMillisecond);
    EXPECT_EQ(rank.events.end(calls[0].event), 3 * kMillisecond);
  }
}

TEST(Services, TransfersBetweenProcessesSetTheirClocks) {
  std::vector<Job> runs(1);
  Job& run = runs[0];
  run.ranks.push_back(trace_of("r0.xplane.pb", 0));
  run.ranks[0].host = "host1";
  // The chief's clock is 50 ms ahead. So data from the chief seems to arrive before it is sent, and
  // data to the chief seems to take 50 ms.
  const Nanos ahead = 50 * kMillisecond;
  const auto end_of = [](const char* local, const char* peer, Nanos sent, Nanos got) {
    Wire wire;
    wire.connections.push_back({local, peer});
    wire.transfers = {{sent, 1000, 100, 0, 0, true}, {got, 1000, 100, 0, 0, false}};
    return wire;
  };
  run.ranks[0].wire = end_of("10.0.0.2:1", "10.0.0.1:2", 10'000, 20'000);
  run.bystanders.push_back({"chief.weftlog", "host0", 9, "chief", 0,
                            end_of("10.0.0.1:2", "10.0.0.2:1", ahead + 18'000, ahead + 12'000)});
  std::vector<RankTrace> services;
  services.push_back(trace_of("chief.xplane.pb", 0));
  services[0].host = "host0";
  services[0].process = 9;
  services[0].steps.push_back({4, 0, ahead, ahead + 3 * kMillisecond});
  Diagnostics diagnostics;
  attach_services(runs, services);
  join_services(run, diagnostics);
  ASSERT_EQ(run.ranks[0].steps.size(), 1u);
  EXPECT_NEAR(static_cast<double>(run.ranks[0].steps[0].start), 0, 5'000);
}

TEST(Services, RanksOnTheHostOfAServerAreNotFarFromIt) {
  Job run;
  for (const char* host : {"host0", "host1.cluster", "host2"}) {
    run.ranks.push_back(trace_of("r", 0));
    run.ranks.back().host = host;
  }
  EXPECT_EQ(ranks_far_from_servers(run), 3);
  run.ranks[1].wire.connections.push_back({"10.0.0.1:1", "10.0.0.1:2"});
  run.ranks[1].wire.transfers.push_back({0, 1, 100, 0, 0, true});
  EXPECT_EQ(ranks_far_from_servers(run), 2) << "one talks to its own host";
  run.bystanders.push_back({"log", "host1", 1, "server", 0, {}});
  EXPECT_EQ(ranks_far_from_servers(run), 2);
  run.bystanders.push_back({"log", "host9", 1, "ps", 0, {}});
  EXPECT_EQ(ranks_far_from_servers(run), 3);
}

}  // namespace
}  // namespace weft::trace
