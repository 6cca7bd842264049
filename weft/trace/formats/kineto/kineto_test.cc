// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/kineto/kineto.h"

#include <gtest/gtest.h>

namespace weft::trace {
namespace {

struct Reading {
  RankTrace trace;
  Diagnostics diagnostics;
};

// Reads with several window sizes, because the result must not depend on the size.
Reading read(std::string_view text, const std::string& name = "test.json") {
  Reading result;
  for (std::size_t piece : {std::size_t{7}, std::size_t{1} << 20}) {
    const auto source = memory_source(text, name, piece);
    result = {};
    auto traces = make_kineto_reader()->read(*source, {}, result.diagnostics);
    EXPECT_TRUE(traces) << traces.error().text();
    if (traces) result.trace = std::move(traces->front());
  }
  return result;
}

Error error_of(std::string_view text) {
  const auto source = memory_source(text, "test.json");
  Diagnostics diagnostics;
  const auto traces = make_kineto_reader()->read(*source, {}, diagnostics);
  EXPECT_FALSE(traces);
  return traces ? Error{} : traces.error();
}

std::string_view name_of(const RankTrace& trace, std::size_t event) {
  return trace.names.text(trace.events.name[event]);
}

const std::string kOp =
    R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":11,"ts":100.5,"dur":20,"args":{"External id":5}})";

std::string file_of(const std::string& events) { return R"({"traceEvents":[)" + events + "]}"; }

TEST(Kineto, HostOpsKeepAutogradAndShapes) {
  const Reading r = read(file_of(
      R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":11,"ts":100.123,"dur":20.5,"args":{
        "External id":5,"Sequence number":7,"Fwd thread id":1,
        "Input Dims":[[4, 8],[8, 2],[],[[3],[5]]],"Input type":["float","c10::Half","Scalar","TensorList"]}})"));
  const RankTrace& t = r.trace;
  ASSERT_EQ(t.events.size(), 1u);
  EXPECT_EQ(t.events.kind[0], EventKind::kHostOp);
  EXPECT_EQ(t.events.start[0], 0);
  EXPECT_EQ(t.epoch, 100123);
  EXPECT_EQ(t.events.duration[0], 20500);
  EXPECT_EQ(t.events.external_id[0], 5);
  const HostOpDetail& detail = t.host_ops.at(t.events.detail[0]);
  EXPECT_EQ(detail.sequence, 7);
  EXPECT_EQ(detail.fwd_thread, 1);
  EXPECT_EQ(detail.input_bytes, 4 * 8 * 4 + 8 * 2 * 2);
  EXPECT_TRUE(t.facts.shapes);
  EXPECT_EQ(t.process, 10);
}

TEST(Kineto, KernelsCarryStreamShapeAndCollective) {
  const Reading r = read(file_of(
      R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":16,
        "ts":1,"dur":2,"args":{
  "External id" : 9, "device" : 0, "stream" : 16, "correlation" : 77,
      "grid" : [ 2, 1, 1 ],
               "block" : [ 288, 1, 1 ],
                         "graph node id" : 12,
                         "Collective name" : "allreduce",
                                             "In msg nelems" : 100,
                                             "Out msg nelems" : 100,
                                             "Group size" : 4,
                                             "dtype" : "Float",
                                                       "Process Group Name"
      : "0",
        "Process Group Description" : "default_pg",
                                      "Process Group Ranks" : "[0, 1, 2, 3]",
                                                              "Seq" : 41}})"));
  const RankTrace& t = r.trace;
  ASSERT_EQ(t.events.size(), 1u);
  EXPECT_EQ(t.events.correlation[0], 77u);
  const Lane& lane = t.lanes.at(t.events.lane[0]);
  EXPECT_TRUE(lane.on_device);
  EXPECT_EQ(lane.tid, 16);
  EXPECT_EQ(lane.device, 0);
  const KernelDetail& kernel = t.kernels.at(t.events.detail[0]);
  EXPECT_EQ(t.names.text(kernel.shape), "2,1,1/288,1,1");
  EXPECT_EQ(kernel.graph_node, 12u);
  const CollectiveDetail& c = t.collectives.at(kernel.collective);
  EXPECT_EQ(t.names.text(c.name), "allreduce");
  EXPECT_EQ(t.names.text(c.dtype), "Float");
  EXPECT_EQ(t.names.text(c.group), "0");
  EXPECT_EQ(c.in_elements, 100);
  EXPECT_EQ(c.group_size, 4);
  EXPECT_EQ(c.sequence, 41);
  EXPECT_TRUE(t.facts.collective_args);
  ASSERT_EQ(t.groups.size(), 1u);
  EXPECT_EQ(t.groups[0].ranks, (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(Kineto, MessagesNameTheirPeers) {
  const Reading r = read(file_of(
      R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":1,"dur":1,"args":{
        "Collective name":"send","Dst Rank":2,"Rank":2,"Group size":4,"dtype":"Float",
        "In msg nelems":8,"Input Dims":[[[2, 4]],[]],"Input type":["TensorList",""]}})"));
  const HostOpDetail& op = r.trace.host_ops.at(r.trace.events.detail[0]);
  EXPECT_EQ(op.input_bytes, 32);
  EXPECT_EQ(r.trace.collectives.at(op.collective).dst, 2);
  EXPECT_EQ(r.trace.collectives.at(op.collective).src, -1);
  EXPECT_EQ(r.trace.rank, -1) << "\"Rank\" of a message is its peer";
}

TEST(Kineto, AnnotationsOfCollectivesKeepTheirSizes) {
  const Reading r = read(file_of(
      R"({"ph":"X","cat":"user_annotation","name":"nccl:all_reduce","pid":1,"tid":1,"ts":1,"dur":1,
        "args":{"External id":3,"Input Dims":[[2873320]],"Input type":["c10::BFloat16"]}})"));
  EXPECT_EQ(r.trace.events.kind[0], EventKind::kAnnotation);
  const HostOpDetail& op = r.trace.host_ops.at(r.trace.events.detail[0]);
  EXPECT_EQ(op.input_bytes, 2873320 * 2);
  EXPECT_EQ(r.trace.names.text(op.input_dims), "[[2873320]]");
}

TEST(Kineto, CopiesSyncsAndMemoryKeepTheirDetails) {
  const Reading r = read(file_of(
      R"({"ph":"X","cat":"gpu_memcpy","name":"Memcpy","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7,"correlation":4,"bytes":4000}},
      {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":20,"ts":2,"dur":1,"args":{
        "cuda_sync_kind":"Stream Wait Event","stream":20,"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":93,"correlation":94}},
      {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":5,"tid":5,"ts":3,"args":{
        "Device Type":1,"Device Id":1,"Addr":139926520725504,"Bytes":-512,"Total Allocated":10,"Total Reserved":20}})"));
  const RankTrace& t = r.trace;
  ASSERT_EQ(t.events.size(), 3u);
  EXPECT_EQ(t.copies.at(t.events.detail[0]).bytes, 4000);
  const SyncDetail& sync = t.syncs.at(t.events.detail[1]);
  EXPECT_EQ(sync.kind, SyncKind::kStreamWaitEvent);
  EXPECT_EQ(sync.wait_on_stream, 7);
  EXPECT_EQ(sync.wait_on_record, 93);
  const MemoryDetail& memory = t.memory.at(t.events.detail[2]);
  EXPECT_EQ(memory.bytes, -512);
  EXPECT_EQ(memory.device, 1);
  EXPECT_EQ(memory.total_reserved, 20);
  EXPECT_TRUE(t.facts.sync_events && t.facts.memory_events && t.facts.device_events);
}

TEST(Kineto, ReadsTheSpellingsOf2021) {
  const Reading r = read(R"({"traceEvents":[
    {"ph":"X","cat":"Operator","name":"ProfilerStep#2","pid":25738,"tid":"25738","ts":1623143093496523,"dur":21,"args":{"External id":1}},
    {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":25738,"tid":"25738","ts":1623143093496530,"dur":2,"args":{"cbid":211,"correlation":160663,"external id":24213}},
    {"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":1623143093553659,"dur":2,"args":{"device":0,"stream":7,"correlation":160663,"external id":24213}},
    {"ph":"i","s":"t","name":"[memory]","pid":25738,"tid":25738,"ts":1623143093496534,"args":{"Device Type":0,"Device Id":-1,"Bytes":4}},
    {"name":"thread_name","ph":"M","ts":1,"pid":0,"tid":"stream 7","args":{"name":"stream 7"}}]})");
  const RankTrace& t = r.trace;
  ASSERT_EQ(t.events.size(), 4u);
  EXPECT_EQ(t.events.kind[0], EventKind::kAnnotation);
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(t.steps[0].number, 2);
  EXPECT_EQ(t.events.external_id[1], 24213);
  EXPECT_EQ(t.lanes[t.events.lane[2]].tid, 7);
  EXPECT_EQ(t.lanes[t.events.lane[2]].name, "stream 7");
  EXPECT_EQ(t.lanes[t.events.lane[0]].tid, 25738);
  EXPECT_EQ(t.memory[0].device, -1);
  EXPECT_EQ(t.epoch, 1623143093496523000);
}

TEST(Kineto, KeysMayComeInAnyOrder) {
  const Reading r = read(R"({"traceEvents":[
    {"args":{"correlation":3,"stream":7,"device":1},"dur":2.001,"ts":4458676522690.655,"tid":7,"pid":1,"name":"k","cat":"kernel","ph":"X"}],
    "baseTimeNanoseconds":1711964646000000000,
    "distributedInfo":{"world_size":8,"rank":3,"pg_config":[{"pg_name":"0","pg_desc":"default_pg","ranks":[0,1]}]},
    "deviceProperties":[{"id":1,"name":"H200"}],"record_shapes":1})");
  const RankTrace& t = r.trace;
  EXPECT_EQ(t.epoch, 1711964646000000000 + 4458676522690655);
  EXPECT_EQ(t.events.duration[0], 2001);
  EXPECT_EQ(t.rank, 3);
  EXPECT_EQ(t.world, 8);
  EXPECT_EQ(t.groups.at(0).description, "default_pg");
  EXPECT_EQ(t.devices.at(1), "H200");
  EXPECT_TRUE(t.facts.shapes);
}

TEST(Kineto, StepsComeFromTheHostOnly) {
  const Reading r = read(file_of(
      R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":1,"tid":1,"ts":10,"dur":5},
      {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":1,"tid":1,"ts":1,"dur":5},
      {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#4","pid":0,"tid":7,"ts":3,"dur":5})"));
  ASSERT_EQ(r.trace.steps.size(), 2u);
  EXPECT_EQ(r.trace.steps[0].number, 4);
  EXPECT_EQ(r.trace.steps[1].start, 9000);
  EXPECT_EQ(r.trace.events.size(), 3u);
}

TEST(Kineto, PythonFramesAreCountedNotKept) {
  const Reading r = read(file_of(
      kOp +
      R"(,{"ph":"X","cat":"python_function","name":"train.py(3): f","pid":1,"tid":1,"ts":1,"dur":1,"args":{"Python id":1}})"));
  EXPECT_EQ(r.trace.events.size(), 1u);
  EXPECT_EQ(r.trace.facts.python_events, 1);
  EXPECT_EQ(r.trace.facts.total_events, 2);
  EXPECT_TRUE(r.trace.facts.stacks);
}

TEST(Kineto, ForwardBackwardArrowsAreKept) {
  const Reading r = read(file_of(
      kOp + R"(,{"ph":"s","id":181,"pid":10,"tid":11,"ts":101,"cat":"fwdbwd","name":"fwdbwd"},
      {"ph":"f","id":181,"pid":10,"tid":12,"ts":105,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
      {"ph":"s","id":9,"pid":10,"tid":11,"ts":1,"cat":"ac2g","name":"ac2g"})"));
  ASSERT_EQ(r.trace.flows.size(), 2u);
  EXPECT_TRUE(r.trace.flows[0].is_start);
  EXPECT_EQ(r.trace.flows[0].time, 500);
  EXPECT_EQ(r.trace.flows[1].id, 181);
}

TEST(Kineto, RankComesFromTheNameIfTheFileHasNone) {
  EXPECT_EQ(read(file_of(kOp), "/a/trace_rank_3.json.gz").trace.rank, 3);
  EXPECT_EQ(read(file_of(kOp), "resnet-w4-r2.json").trace.rank, 2);
  EXPECT_EQ(read(file_of(kOp), "control.json").trace.rank, -1);
  const Reading r = read(file_of(kOp), "x/host-1.lan_21147.1698955063520869240.pt.trace.json");
  EXPECT_EQ(r.trace.host, "host-1.lan");
  EXPECT_EQ(r.trace.process, 21147);
  EXPECT_EQ(r.trace.rank, -1);
}

TEST(Kineto, CutFileGivesItsCompleteEvents) {
  const std::string text = file_of(kOp + "," + kOp + "," + kOp);
  const Reading r = read(text.substr(0, text.size() - 60));
  EXPECT_EQ(r.trace.events.size(), 2u);
  EXPECT_EQ(r.diagnostics.count_of("cut-file"), 1);
}

TEST(Kineto, OddCharactersAreRepaired) {
  const Reading r =
      read(file_of("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\x01\xff\",\"pid\":1,\"tid\":1,"
                   "\"ts\":1,\"dur\":1}"));
  EXPECT_EQ(name_of(r.trace, 0), "a\x01\xef\xbf\xbd");
  EXPECT_EQ(r.diagnostics.count_of("control-characters"), 1);
  EXPECT_EQ(r.diagnostics.count_of("bad-utf8"), 1);
}

TEST(Kineto, EventsWithoutTimeAreLeftOut) {
  const Reading r =
      read(file_of(kOp + R"(,{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":NaN,"dur":1},
      {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":101,"dur":Infinity},
      {"ph":"X","cat":"cpu_op","name":"c","pid":1,"tid":1,"dur":1},
      {"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":1,"ts":102,"dur":-4})"));
  EXPECT_EQ(r.trace.events.size(), 2u);
  EXPECT_EQ(r.diagnostics.count_of("event-without-time"), 3);
  EXPECT_EQ(r.diagnostics.count_of("not-a-number"), 2);
  EXPECT_EQ(r.diagnostics.count_of("negative-duration"), 1);
}

TEST(Kineto, DamageLosesOneEventOnly) {
  const Reading r = read(file_of(
      kOp + R"(,{"ph":"X","cat":"cpu_op","name":"say "hi"","pid":1,"tid":1,"ts":1,"dur":1},)" +
      kOp + "," + kOp));
  EXPECT_EQ(r.trace.events.size(), 3u);
  EXPECT_GE(r.diagnostics.count_of("damaged-json"), 1);
}

TEST(Kineto, DamagedHeaderStillGivesEvents) {
  const Reading r = read(R"({"deviceProperties": [{"id" 0!!], "traceEvents":[)" + kOp + "]}");
  EXPECT_EQ(r.trace.events.size(), 1u);
}

TEST(Kineto, EventFarFromAllOthersIsAClockJump) {
  std::string events = kOp;
  for (int i = 1; i < 50; ++i) events += "," + kOp;
  const Reading r = read(file_of(
      events + R"(,{"ph":"X","cat":"cpu_op","name":"far","pid":10,"tid":11,"ts":9e12,"dur":1})"));
  EXPECT_EQ(r.diagnostics.count_of("clock-jump"), 1);
  EXPECT_EQ(r.trace.events.size(), 50u);
  for (std::size_t i = 0; i < r.trace.events.size(); ++i) EXPECT_EQ(r.trace.events.start[i], 0);
}

TEST(Kineto, KernelBeforeItsLaunchIsReported) {
  const Reading r = read(file_of(
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2000000,"dur":5,"args":{"correlation":1}},
      {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1000,"dur":5,"args":{"stream":7,"device":0,"correlation":1}})"));
  EXPECT_EQ(r.diagnostics.count_of("device-before-launch"), 1);
}

TEST(Kineto, LongGapIsReported) {
  const Reading r = read(file_of(
      kOp + R"(,{"ph":"X","cat":"cpu_op","name":"late","pid":10,"tid":11,"ts":30000000,"dur":1})"));
  EXPECT_EQ(r.diagnostics.count_of("time-gap"), 1);
}

TEST(Kineto, StepsThatRunBackwardsAreReported) {
  const Reading r = read(file_of(
      R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":1,"tid":1,"ts":1,"dur":5},
      {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":1,"tid":1,"ts":10,"dur":5})"));
  EXPECT_EQ(r.diagnostics.count_of("step-order"), 1);
}

TEST(Kineto, UnknownCategoriesAreNamed) {
  const Reading r = read(
      file_of(kOp + R"(,{"ph":"X","cat":"hpu_thing","name":"a","pid":1,"tid":1,"ts":1,"dur":1})"));
  ASSERT_EQ(r.diagnostics.count_of("unknown-category"), 1);
  EXPECT_EQ(r.diagnostics.all().back().places.front(), "test.json: \"hpu_thing\"");
}

TEST(Kineto, FilesWithoutUsableEventsAreErrorsWithAdvice) {
  EXPECT_EQ(error_of(R"({"traceEvents":[]})").code, ErrorCode::kBadInput);
  EXPECT_NE(error_of(R"({"schemaVersion":1,"deviceProp)").message.find("ends before"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"traceEvents":[{"ph":"X","cat":"foo","ts":1,"dur":1}]})")
                .message.find("torch.profiler"),
            std::string::npos);
}

TEST(Kineto, ProgressCanCancel) {
  std::string events = kOp;
  for (int i = 1; i < 10000; ++i) events += "," + kOp;
  const std::string text = file_of(events);
  const auto source = memory_source(text, "test.json");
  Diagnostics diagnostics;
  std::int64_t last = 0;
  ReadOptions options;
  options.progress = [&](std::int64_t bytes) {
    last = bytes;
    return false;
  };
  const auto traces = make_kineto_reader()->read(*source, options, diagnostics);
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().code, ErrorCode::kCancelled);
  EXPECT_GT(last, 0);
  EXPECT_LT(last, std::ssize(text) / 2);
}

TEST(Kineto, RecognisesItsFilesByContent) {
  const auto reader = make_kineto_reader();
  EXPECT_GT(reader->recognise("\n{\n \"schemaVersion\": 1, \"deviceProperties\": ["), 90);
  EXPECT_GT(reader->recognise(R"({"traceEvents":[)"), 0);
  EXPECT_GT(reader->recognise(R"([{"ph":"X","cat":"cpu_op")"), 0);
  EXPECT_EQ(reader->recognise(R"([{"name":"forward","ph":"X","cat":"forward-compute")"), 0);
  EXPECT_EQ(reader->recognise(R"({"bytes":[1,2]})"), 0);
  EXPECT_EQ(reader->recognise(""), 0);
  EXPECT_EQ(reader->recognise("PK\x03\x04 \"traceEvents\""), 0);
}

}  // namespace
}  // namespace weft::trace
