// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/probe/probe.h"

#include <gtest/gtest.h>

#include "weft/trace/formats/probe/fake_log.h"

namespace weft::trace {
namespace {

using probe::FakeLog;
using probe::LogHeader;
using probe::LogKind;

constexpr Nanos kBase = 1'700'000'000 * kSecond;

struct Reading {
  Result<ProbeLog> log;
  Diagnostics diagnostics;
};

Reading read(const std::string& bytes, const std::string& name = "job/h-7.wire.weftlog") {
  Reading reading{fail(ErrorCode::kBadInput, ""), {}};
  const auto source = memory_source(bytes, name, 1000);
  reading.log = read_probe_log(*source, {}, reading.diagnostics);
  return reading;
}

LogHeader header(std::int32_t rank = 0, std::int64_t process = 7) {
  LogHeader from;
  from.process = process;
  from.rank = rank;
  from.host = "node1";
  return from;
}

FakeLog made(std::int32_t rank = 0, std::int64_t process = 7) {
  FakeLog log(header(rank, process));
  log.chunk(11).connection(0, 1, 2);
  log.transfer(true, 0, kBase + 500, 20, 0, 100);
  log.transfer(false, 0, kBase + 300, 50, 0, 40);
  log.transfer(true, 0, kBase + 900, 10, 100, 1);
  return log;
}

TEST(ProbeLog, TransfersAreSortedAndRelativeToTheFirst) {
  const Reading r = read(made().bytes());
  ASSERT_TRUE(r.log);
  EXPECT_EQ(r.log->from.host, "node1");
  EXPECT_EQ(r.log->from.process, 7);
  EXPECT_EQ(r.log->epoch, kBase + 300);
  const Wire& wire = r.log->wire;
  ASSERT_EQ(wire.connections.size(), 1u);
  EXPECT_EQ(wire.connections[0].local, "10.0.0.1:1");
  EXPECT_EQ(wire.connections[0].peer, "10.0.0.2:2");
  ASSERT_EQ(wire.transfers.size(), 3u);
  EXPECT_FALSE(wire.transfers[0].outgoing);
  EXPECT_EQ(wire.transfers[0].start, 0);
  EXPECT_EQ(wire.transfers[0].bytes, 40);
  EXPECT_EQ(wire.transfers[1].start, 200);
  EXPECT_EQ(wire.transfers[1].duration, 20);
  EXPECT_EQ(wire.transfers[2].offset, 100);
  EXPECT_TRUE(r.diagnostics.empty());
}

TEST(ProbeLog, ConnectionMayBeDescribedAfterItsUse) {
  FakeLog log(header());
  log.chunk(1).transfer(true, 5, kBase, 1, 0, 9);
  log.chunk(2).connection(5, 1, 2);
  const Reading r = read(log.bytes());
  ASSERT_TRUE(r.log);
  EXPECT_EQ(r.log->wire.transfers.size(), 1u);
}

TEST(ProbeLog, TransfersOfUnknownConnectionsAreLeftOut) {
  FakeLog log = made();
  log.transfer(true, 6, kBase, 1, 0, 9);
  const Reading r = read(log.bytes());
  ASSERT_TRUE(r.log);
  EXPECT_EQ(r.log->wire.transfers.size(), 3u);
  EXPECT_EQ(r.diagnostics.count_of("transfers-of-unknown-connection"), 1);
}

TEST(ProbeLog, ReservedChunksAreEmpty) {
  FakeLog log = made();
  log.bytes().resize(log.bytes().size() + 5 * FakeLog::kChunkBytes, '\0');
  const Reading r = read(log.bytes());
  ASSERT_TRUE(r.log);
  EXPECT_EQ(r.log->wire.transfers.size(), 3u);
  EXPECT_TRUE(r.diagnostics.empty());
}

TEST(ProbeLog, EndOfTheRecordingIsReported) {
  const auto ids = [](std::uint32_t state, std::uint64_t lost) {
    return read(FakeLog(header(), state, lost).bytes()).diagnostics;
  };
  EXPECT_EQ(ids(0, 0).count_of("log-not-closed"), 1);
  EXPECT_EQ(ids(2, 17).count_of("log-disk-full"), 1);
  EXPECT_EQ(ids(2, 17).count_of("log-lost"), 17);
  EXPECT_EQ(ids(3, 0).count_of("log-limit"), 1);
}

TEST(ProbeLog, RecordsAfterADamagedOneInTheChunkAreLost) {
  FakeLog log = made();
  log.bytes()[FakeLog::kHeaderBytes + 16] = '\x7f';
  log.chunk(2).transfer(true, 0, kBase, 1, 0, 9);
  const Reading r = read(log.bytes());
  ASSERT_TRUE(r.log);
  EXPECT_GE(r.diagnostics.count_of("log-damaged"), 1);
}

TEST(ProbeLog, EveryLengthOfFileIsReadOrRefused) {
  const std::string whole = made().bytes();
  for (std::size_t size = 0; size < FakeLog::kHeaderBytes + 120; ++size) {
    const Reading r = read(whole.substr(0, size));
    EXPECT_EQ(r.log.has_value(), size >= 384) << size;
  }
}

RankTrace profile(std::int32_t rank, std::int64_t process, Nanos epoch) {
  RankTrace trace;
  trace.file = "job/r" + std::to_string(rank) + ".json";
  trace.rank = rank;
  trace.process = process;
  trace.epoch = epoch;
  trace.lanes.push_back({});
  trace.events.add(EventKind::kHostOp, 0, 1000, trace.names.intern("op"), 0);
  return trace;
}

std::vector<Run> one_run(std::vector<RankTrace> ranks) {
  std::vector<Run> runs(1);
  runs[0].ranks = std::move(ranks);
  return runs;
}

ProbeLog log_of(const FakeLog& made, const std::string& name = "job/h-7.wire.weftlog") {
  return std::move(*read(made.bytes(), name).log);
}

TEST(ProbeLog, IsAttachedToTheProfileOfItsProcessOnItsClock) {
  auto runs = one_run({profile(0, 6, kBase), profile(1, 7, kBase)});
  Diagnostics diagnostics;
  std::vector<ProbeLog> logs;
  logs.push_back(log_of(made(0, 7)));
  attach(runs, std::move(logs), diagnostics);
  EXPECT_TRUE(runs[0].ranks[0].wire.transfers.empty());
  ASSERT_EQ(runs[0].ranks[1].wire.transfers.size(), 3u);
  EXPECT_EQ(runs[0].ranks[1].wire.transfers[0].start, 300);
}

TEST(ProbeLog, SamePidOnAnotherHostIsAnotherProcess) {
  RankTrace other = profile(0, 7, kBase);
  other.host = "node2.lan";
  auto runs = one_run({std::move(other)});
  Diagnostics diagnostics;
  std::vector<ProbeLog> logs;
  logs.push_back(log_of(made(0, 7)));
  attach(runs, std::move(logs), diagnostics);
  EXPECT_TRUE(runs[0].ranks[0].wire.transfers.empty());
  ASSERT_EQ(runs[0].bystanders.size(), 1u);
  EXPECT_EQ(runs[0].bystanders[0].process, 7);
  EXPECT_EQ(diagnostics.count_of("process-beside-the-ranks"), 1);
}

TEST(ProbeLog, IsAttachedByRankIfTheProfileHasNoProcess) {
  auto runs = one_run({profile(0, -1, kBase), profile(1, -1, kBase)});
  Diagnostics diagnostics;
  std::vector<ProbeLog> logs;
  logs.push_back(log_of(made(1, 7)));
  attach(runs, std::move(logs), diagnostics);
  EXPECT_EQ(runs[0].ranks[1].wire.transfers.size(), 3u);
}

TEST(ProbeLog, IsDividedByTimeAmongTheProfilesOfOneProcess) {
  auto runs = one_run({profile(0, 7, kBase)});
  runs.push_back({});
  runs[1].ranks.push_back(profile(0, 7, kBase + 850));
  Diagnostics diagnostics;
  std::vector<ProbeLog> logs;
  logs.push_back(log_of(made(0, 7)));
  attach(runs, std::move(logs), diagnostics);
  EXPECT_EQ(runs[0].ranks[0].wire.transfers.size(), 3u);
  EXPECT_EQ(runs[1].ranks[0].wire.transfers.size(), 1u);
}

TEST(ProbeLog, WithoutProfileBecomesARankWithALanePerDirection) {
  std::vector<ProbeLog> logs;
  logs.push_back(log_of(made(3, 7)));
  logs.push_back(log_of(made(-1, 8)));
  std::vector<FileTraces> files;
  Diagnostics diagnostics;
  turn_into_ranks(logs, files, diagnostics);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0][0].rank, 3);
  EXPECT_EQ(files[0][0].events.size(), 3u);
  ASSERT_EQ(files[0][0].lanes.size(), 2u);
  EXPECT_EQ(files[0][0].lanes[0].name, "10.0.0.1:1 <- 10.0.0.2:2");
  ASSERT_EQ(logs.size(), 1u) << "a launcher is not a rank";
  EXPECT_EQ(logs[0].from.process, 8);
}

TEST(ProbeLog, BusiestOfSeveralLogsWithTheSameRankIsTheRank) {
  FakeLog busy = made(0, 8);
  busy.transfer(true, 0, kBase + 1000, 1, 101, 5000);
  std::vector<ProbeLog> logs;
  logs.push_back(log_of(made(0, 7)));
  logs.push_back(log_of(busy));
  std::vector<FileTraces> files;
  Diagnostics diagnostics;
  turn_into_ranks(logs, files, diagnostics);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0][0].process, 8);
}

}  // namespace
}  // namespace weft::trace
