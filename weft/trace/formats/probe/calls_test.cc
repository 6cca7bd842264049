// SPDX-License-Identifier: Apache-2.0
// Tests of logs with MPI calls and NCCL events.
#include <gtest/gtest.h>

#include "weft/trace/formats/probe/fake_log.h"
#include "weft/trace/formats/probe/probe.h"
#include "weft/trace/match/match.h"

namespace weft::trace {
namespace {

using probe::FakeLog;
using probe::LogHeader;
using probe::LogKind;
using probe::RecordType;

constexpr Nanos kBase = 1'700'000'000 * kSecond;

LogHeader header(LogKind kind, std::int32_t rank) {
  LogHeader from;
  from.kind = kind;
  from.process = 7 + rank;
  from.rank = rank;
  from.world = 2;
  from.host = "node" + std::to_string(rank);
  return from;
}

std::string numbers(std::initializer_list<std::uint64_t> values) {
  std::string fields;
  for (const std::uint64_t value : values) FakeLog::number(fields, value);
  return fields;
}

ProbeLog read(const FakeLog& made, Diagnostics& diagnostics) {
  const auto source = memory_source(made.bytes(), "job/r0.weftlog");
  Result<ProbeLog> log = read_probe_log(*source, {}, diagnostics);
  EXPECT_TRUE(log);
  return std::move(*log);
}

// -- MPI --------------------------------------------------------------------------------------

/// A log of communicator 0, which has the ranks 1 and 0, in this order.
FakeLog mpi_log(std::int32_t rank) {
  FakeLog log(header(LogKind::kMpi, rank));
  log.chunk(31);
  std::string fields = numbers({0, 0xabc, 2, rank == 1 ? 0u : 1u, 2});
  FakeLog::signed_number(fields, 1);
  FakeLog::signed_number(fields, -1);
  log.record(RecordType::kMpiCommunicator, kBase, fields);
  return log;
}

void call(FakeLog& log, Nanos start, Nanos duration, std::uint64_t kind, std::uint64_t sequence,
          std::uint64_t elements, std::uint64_t type, std::int64_t peer, bool background) {
  std::string fields =
      numbers({static_cast<std::uint64_t>(duration), kind, 0, sequence, elements, type});
  FakeLog::signed_number(fields, peer);
  FakeLog::number(fields, background ? 1 : 0);
  log.record(RecordType::kMpiCall, kBase + start, fields);
}

TEST(MpiLog, CollectivesCarryWholeSizesGroupAndSequence) {
  FakeLog log = mpi_log(0);
  call(log, 100, 40, 1, 1, 1000, 4, -1, false);
  call(log, 200, 40, 2, 2, 64, 5, -1, false);
  call(log, 300, 40, 3, 3, 64, 0, -1, false);
  Diagnostics diagnostics;
  const ProbeLog read_log = read(log, diagnostics);
  ASSERT_TRUE(read_log.calls);
  const RankTrace& trace = *read_log.calls;
  ASSERT_EQ(trace.events.size(), 3u);
  EXPECT_EQ(trace.epoch, kBase + 100);
  EXPECT_EQ(trace.names.text(trace.events.name[0]), "mpi:allreduce");
  EXPECT_EQ(trace.collectives[0].in_elements, 1000);
  EXPECT_EQ(trace.names.text(trace.collectives[0].dtype), "Float");
  EXPECT_EQ(trace.names.text(trace.collectives[0].group), "0xabc");
  EXPECT_EQ(trace.collectives[0].sequence, 0);
  EXPECT_EQ(trace.collectives[1].in_elements, 32);
  EXPECT_EQ(trace.collectives[1].out_elements, 64);
  EXPECT_EQ(trace.collectives[2].in_elements, 64);
  EXPECT_EQ(trace.collectives[2].out_elements, 32);
  ASSERT_EQ(trace.groups.size(), 1u);
  EXPECT_EQ(trace.groups[0].ranks, (std::vector<std::int32_t>{1, 0}));
  EXPECT_TRUE(diagnostics.empty());
}

TEST(MpiLog, PeersAreRanksOfTheJob) {
  FakeLog log = mpi_log(0);
  call(log, 100, 40, 10, 0, 8, 0, 0, false);
  call(log, 200, 40, 11, 0, 8, 0, 0, false);
  Diagnostics diagnostics;
  const ProbeLog read_log = read(log, diagnostics);
  const RankTrace& trace = *read_log.calls;
  EXPECT_EQ(trace.collectives[0].src, 0);
  EXPECT_EQ(trace.collectives[0].dst, 1);
  EXPECT_EQ(trace.collectives[1].src, 1);
  EXPECT_EQ(trace.collectives[1].dst, 0);
}

TEST(MpiLog, NonBlockingCallsAreOnFreeLanes) {
  FakeLog log = mpi_log(0);
  call(log, 100, 500, 1, 1, 8, 0, -1, true);
  call(log, 150, 500, 1, 2, 8, 0, -1, true);
  call(log, 160, 10, 9, 3, 0, 0, -1, false);
  call(log, 700, 10, 1, 4, 8, 0, -1, true);
  log.record(RecordType::kMpiWait, kBase + 710, numbers({20, 1}));
  Diagnostics diagnostics;
  const ProbeLog read_log = read(log, diagnostics);
  const RankTrace& trace = *read_log.calls;
  ASSERT_EQ(trace.events.size(), 5u);
  EXPECT_NE(trace.events.lane[0], trace.events.lane[1]);
  EXPECT_EQ(trace.events.lane[0], trace.events.lane[3]);
  EXPECT_EQ(trace.events.lane[2], trace.events.lane[4]);
  EXPECT_EQ(trace.lanes[trace.events.lane[2]].tid, 31);
  EXPECT_EQ(trace.events.kind[4], EventKind::kHostOp);
}

TEST(MpiLog, CollectivesOfTwoRanksAreMatched) {
  trace::Run run;
  Diagnostics diagnostics;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    FakeLog log = mpi_log(rank);
    // Rank 1 started recording late and lacks the first collective.
    if (rank == 0) call(log, 50, 40, 1, 1, 1000, 4, -1, false);
    call(log, 100, 40, 1, 2, 1000, 4, -1, false);
    call(log, 200, 40, 1, 3, 1000, 4, -1, false);
    run.ranks.push_back(std::move(*read(log, diagnostics).calls));
  }
  const std::vector<Match> matches = match_calls(run, diagnostics);
  ASSERT_EQ(matches.size(), 3u);
  EXPECT_EQ(matches[0].members.size(), 1u);
  EXPECT_EQ(matches[1].members.size(), 2u);
  EXPECT_EQ(matches[2].bytes, 4000);
}

TEST(MpiLog, CallsAreAddedToTheProfileOnTheSameThread) {
  FakeLog log = mpi_log(0);
  call(log, 100, 40, 1, 1, 1000, 4, -1, false);
  call(log, 900, 40, 1, 2, 1000, 4, -1, false);
  Diagnostics diagnostics;
  std::vector<ProbeLog> logs;
  logs.push_back(read(log, diagnostics));
  RankTrace profile;
  profile.file = "job/r0.json";
  profile.rank = 0;
  profile.process = 7;
  profile.epoch = kBase + 500;
  profile.lanes.push_back({false, 7, 31, -1, "main"});
  profile.events.add(EventKind::kHostOp, 0, 1000, profile.names.intern("op"), 0);
  std::vector<trace::Run> runs(1);
  runs[0].ranks.push_back(std::move(profile));
  attach(runs, std::move(logs), diagnostics);
  const RankTrace& joined = runs[0].ranks[0];
  ASSERT_EQ(joined.events.size(), 2u);
  EXPECT_EQ(joined.events.start[1], 400);
  EXPECT_EQ(joined.events.lane[1], 0u);
  EXPECT_EQ(joined.collectives.at(0).sequence, 1);
  EXPECT_EQ(diagnostics.count_of("calls-attached"), 1);
}

// -- NCCL -------------------------------------------------------------------------------------

class MadeNccl {
 public:
  explicit MadeNccl(std::int32_t rank) : log(header(LogKind::kNccl, rank)) {
    log.chunk(5);
    std::string fields = numbers({0, 0xfeed});
    for (const std::int64_t n : {2, rank, 2}) FakeLog::signed_number(fields, n);
    FakeLog::text(fields, "world");
    log.record(RecordType::kNcclCommunicator, kBase, fields);
  }

  void start(Nanos time, std::uint64_t id, std::uint64_t kind, std::uint64_t parent,
             const std::string& fields) {
    log.record(RecordType::kNcclStart, kBase + time, numbers({id, kind, parent, 0}) + fields);
  }
  void state(Nanos time, std::uint64_t id, std::uint64_t state, std::uint64_t argument) {
    log.record(RecordType::kNcclState, kBase + time, numbers({id, state, argument}));
  }
  void stop(Nanos time, std::uint64_t id) {
    log.record(RecordType::kNcclStop, kBase + time, numbers({id}));
  }

  static std::string coll(std::uint64_t count, std::uint64_t sequence) {
    std::string fields;
    FakeLog::text(fields, "AllReduce");
    FakeLog::text(fields, "ncclFloat32");
    return fields + numbers({count, sequence, 0, 2}) + std::string("\0\0", 2);
  }
  static std::string proxy_op(bool send, std::int64_t steps, std::int64_t chunk) {
    std::string fields;
    FakeLog::signed_number(fields, 7);
    FakeLog::number(fields, 3);
    for (const std::int64_t n : {std::int64_t{1}, steps, chunk}) FakeLog::signed_number(fields, n);
    FakeLog::number(fields, send ? 1 : 0);
    return fields;
  }

  FakeLog log;
};

TEST(NcclLog, CallThatIsStoppedSeveralTimesIsValid) {
  MadeNccl made(0);
  made.start(100, 1, 9, 0, "");
  made.stop(110, 1);
  made.stop(112, 1);
  Diagnostics diagnostics;
  read(made.log, diagnostics);
  EXPECT_EQ(diagnostics.count_of("log-damaged"), 0);
}

TEST(NcclLog, StepsOfTheProxyAreTransfers) {
  MadeNccl made(0);
  made.start(100, 1, 1, 0, MadeNccl::coll(1000, 4));
  made.stop(110, 1);
  made.start(120, 2, 3, 1, MadeNccl::proxy_op(true, 1, 9999));
  made.start(130, 3, 4, 2, std::string(1, '\0'));
  made.state(140, 3, 8, 0);
  made.state(150, 3, 9, 4000);
  made.stop(180, 3);
  made.start(120, 4, 3, 1, MadeNccl::proxy_op(false, 1, 9999));
  made.start(125, 5, 4, 4, std::string(1, '\0'));
  made.state(135, 5, 10, 4000);
  made.state(190, 5, 11, 3000);
  made.state(195, 5, 12, 3000);
  made.stop(199, 5);
  Diagnostics diagnostics;
  const ProbeLog log = read(made.log, diagnostics);
  EXPECT_EQ(log.epoch, kBase + 135);
  ASSERT_EQ(log.wire.connections.size(), 1u);
  EXPECT_EQ(log.wire.connections[0].peer_rank, 1);
  EXPECT_EQ(log.wire.connections[0].channel, 3);
  ASSERT_EQ(log.wire.transfers.size(), 2u);
  const WireTransfer& received = log.wire.transfers[0];
  EXPECT_FALSE(received.outgoing);
  EXPECT_EQ(received.duration, 190 - 135);
  EXPECT_EQ(received.bytes, 3000);
  const WireTransfer& sent = log.wire.transfers[1];
  EXPECT_EQ(sent.start, 150 - 135);
  EXPECT_EQ(sent.duration, 30);
  EXPECT_EQ(sent.bytes, 4000);
}

TEST(NcclLog, LengthOfChannelsComesFromTheGpuAndEndFromTheHost) {
  MadeNccl made(0);
  made.start(100, 1, 1, 0, MadeNccl::coll(1000, 4));
  made.stop(110, 1);
  for (std::uint64_t channel = 0; channel < 2; ++channel) {
    const std::uint64_t id = 10 + channel;
    made.start(5000, id, 6, 1, numbers({channel, 1'000'000 + channel * 10}));
    made.state(9000, id, 22, 1'002'000 + channel * 10);
    made.stop(9000, id);
  }
  Diagnostics diagnostics;
  const ProbeLog log = read(made.log, diagnostics);
  ASSERT_TRUE(log.calls);
  const Events& events = log.calls->events;
  const auto kernel = static_cast<std::size_t>(
      std::find(events.kind.begin(), events.kind.end(), EventKind::kKernel) - events.kind.begin());
  ASSERT_LT(kernel, events.size());
  EXPECT_EQ(events.duration[kernel], 2010);
  EXPECT_EQ(log.calls->epoch + events.end(kernel), kBase + 9000);
  EXPECT_TRUE(log.of_calls.empty());
}

TEST(NcclLog, WithoutChannelsTheProxyGivesTheDuration) {
  MadeNccl made(1);
  made.start(100, 1, 1, 0, MadeNccl::coll(1000, 4));
  made.stop(110, 1);
  made.start(200, 2, 3, 1, MadeNccl::proxy_op(true, 1, 10));
  made.stop(700, 2);
  Diagnostics diagnostics;
  const ProbeLog log = read(made.log, diagnostics);
  ASSERT_TRUE(log.calls);
  EXPECT_EQ(log.calls->rank, 1);
  const Events& events = log.calls->events;
  EXPECT_EQ(*std::max_element(events.duration.begin(), events.duration.end()), 500);
  EXPECT_TRUE(log.of_calls.empty());
}

TEST(NcclLog, CollectivesWithoutDeviceTimeGiveAWarning) {
  MadeNccl made(0);
  made.start(100, 1, 1, 0, MadeNccl::coll(1000, 4));
  made.stop(110, 1);
  Diagnostics diagnostics;
  const ProbeLog log = read(made.log, diagnostics);
  EXPECT_EQ(log.of_calls.count_of("nccl-enqueue-times"), 1);
}

TEST(NcclLog, BeforeTwoTwentySevenTheBytesComeFromTheOperation) {
  MadeNccl made(0);
  made.start(120, 2, 3, 0, MadeNccl::proxy_op(true, 2, 9999));
  made.state(150, 2, 2, 600);
  made.state(160, 2, 2, 1000);
  made.start(130, 3, 4, 2, std::string(1, '\0'));
  made.stop(180, 3);
  Diagnostics diagnostics;
  const ProbeLog log = read(made.log, diagnostics);
  ASSERT_EQ(log.wire.transfers.size(), 1u);
  EXPECT_EQ(log.wire.transfers[0].bytes, 500);
  EXPECT_FALSE(log.calls);
}

}  // namespace
}  // namespace weft::trace
