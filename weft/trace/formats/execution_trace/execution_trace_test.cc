// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/execution_trace/execution_trace.h"

#include <gtest/gtest.h>

#include "weft/trace/formats/kineto/kineto.h"

namespace weft::trace {
namespace {

ExecutionTrace read(std::string_view text, Diagnostics& diagnostics) {
  const auto source = memory_source(text, "et_3.json", 11);
  auto trace = read_execution_trace(*source, {}, diagnostics);
  EXPECT_TRUE(trace) << trace.error().text();
  return trace ? std::move(*trace) : ExecutionTrace{};
}

ExecutionTrace read(std::string_view text) {
  Diagnostics diagnostics;
  return read(text, diagnostics);
}

// A collective call in the form of schema 1.0.1, followed by its wait.
std::string call(int id, const std::string& name, int elements) {
  const std::string n = std::to_string(id);
  const std::string tensor = "[1, 2, 0, " + std::to_string(elements) + ", 2, \"cuda:0\"]";
  return R"({"name":"record_param_comms","id":)" + n + R"(,"rf_id":)" + n +
         R"(,"parent":2,"seq_id":-1,"tid":1,"fw_tid":0,"inputs":[[)" + tensor + "], 33" + n +
         R"(, 93825114103440, 0, ")" + name +
         R"(", [], [], 8],"input_shapes":[[[4]],[],[],[],[],[],[],[]],
         "input_types":["GenericList[Tensor(c10::Half)]","Int","Int","Int","String"],
         "outputs":[[)" +
         tensor + R"(]],"output_types":["GenericList[Tensor(c10::Half)]"]})";
}

std::string file_of(const std::string& nodes) {
  return R"({"schema":"1.0.1","pid":42,"time":"x","start_ts":1,"nodes":[)" + nodes + "]}";
}

TEST(ExecutionTrace, ReadsNodesOfSchema101) {
  const ExecutionTrace t = read(file_of(
      R"j({"name":"aten::mm","id":8,"rf_id":4,"parent":7,"seq_id":12,"tid":1,"fw_tid":3,
        "inputs":[[9,10,0,8192,4,"cuda:0"],[[4,5,0,10,2,"cpu"]],1,"x]["],"input_types":["Tensor(float)"],
        "outputs":[[9,10,0,100,8,"cuda:0"]],"output_types":["Tensor(long int)"]},
      {"name":"first","id":3,"inputs":[],"outputs":[]})j"));
  EXPECT_EQ(t.process, 42);
  EXPECT_EQ(t.schema, "1.0.1");
  EXPECT_EQ(t.rank, 3);
  ASSERT_EQ(t.nodes.size(), 2u);
  EXPECT_EQ(t.nodes[0].id, 3) << "nodes are sorted by start";
  const ExecutionNode& mm = t.nodes[1];
  EXPECT_EQ(t.names.text(mm.name), "aten::mm");
  EXPECT_EQ(mm.sequence, 12);
  EXPECT_EQ(mm.fwd_thread, 3);
  EXPECT_EQ(mm.parent, 7);
  EXPECT_EQ(mm.input_bytes, 8192 * 4 + 20);
  EXPECT_EQ(mm.output_bytes, 800);
}

TEST(ExecutionTrace, ReadsAttributesOfSchema110) {
  const ExecutionTrace t = read(R"({"schema":"1.1.0-chakra.0.0.4","pid":1,"nodes":[
    {"id":437,"name":"record_param_comms","ctrl_deps":436,"inputs":{"values":[[[434,435,0,53120,4,"cuda:1"]],33,["0","default_pg"],0,"broadcast",[],[],0,1,2],"shapes":[],"types":["GenericList[Tensor(float)]"]},
     "outputs":{"values":[],"shapes":[],"types":[]},
     "attrs":[{"name":"rf_id","type":"uint64","value":115},{"name":"collective_name","type":"string","value":"broadcast"},
       {"name":"dtype","type":"string","value":"Float"},{"name":"in_msg_nelems","type":"uint64","value":53120},
       {"name":"pg_name","type":"string","value":"0"},{"name":"pg_size","type":"uint64","value":2}]}]})");
  ASSERT_EQ(t.collectives.size(), 1u);
  const CollectiveDetail& c = t.collectives[0];
  EXPECT_EQ(t.names.text(c.name), "broadcast");
  EXPECT_EQ(t.names.text(c.group), "0");
  EXPECT_EQ(c.in_elements, 53120);
  EXPECT_EQ(c.group_size, 2);
  EXPECT_EQ(c.sequence, 33);
  EXPECT_EQ(t.nodes[0].function, 115);
  EXPECT_EQ(t.nodes[0].parent, 436);
}

TEST(ExecutionTrace, PositionsOfArgumentsGiveSizeAndKind) {
  const ExecutionTrace t = read(file_of(call(5, "allreduce", 100)));
  const CollectiveDetail& c = t.collectives.at(t.nodes[0].collective);
  EXPECT_EQ(t.names.text(c.name), "allreduce");
  EXPECT_EQ(t.names.text(c.dtype), "Half");
  EXPECT_EQ(c.in_elements, 100);
  EXPECT_EQ(c.group_size, 8);
  EXPECT_EQ(c.sequence, 335);
  EXPECT_EQ(c.group, 0u) << "an address is not a name";
}

TEST(ExecutionTrace, CutFileGivesItsCompleteNodes) {
  const std::string text = file_of(call(5, "allreduce", 100) + "," + call(6, "allreduce", 7));
  Diagnostics diagnostics;
  EXPECT_EQ(read(std::string_view(text).substr(0, text.size() - 30), diagnostics).nodes.size(), 1u);
  EXPECT_EQ(diagnostics.count_of("cut-file"), 1);
  const auto source = memory_source(R"({"schema":"1.0.1","nodes":[{"na)", "x");
  EXPECT_FALSE(read_execution_trace(*source, {}, diagnostics));
}

TEST(ExecutionTrace, IsRecognisedByContent) {
  EXPECT_GT(recognise_execution_trace(R"({"schema":"1.0.1","nodes":[{"name":"x","rf_id":0)"), 90);
  EXPECT_EQ(recognise_execution_trace(R"({"traceEvents":[]})"), 0);
  EXPECT_EQ(recognise_execution_trace(R"(tar {"schema":"1.0.1","nodes":[{"rf_id":0)"), 0);
}

std::string profile_op(const std::string& name, int ts, int elements) {
  return R"({"ph":"X","cat":"cpu_op","name":")" + name + R"(","pid":42,"tid":1,"ts":)" +
         std::to_string(ts) + R"(,"dur":1,"args":{"Input Dims":[[[)" + std::to_string(elements) +
         R"(]],[]],"Input type":["TensorList","Scalar"]}})";
}

RankTrace profile(const std::string& events) {
  const std::string text = R"({"traceEvents":[)" + events + "]}";
  const auto source = memory_source(text, "kineto_3.json");
  Diagnostics diagnostics;
  return std::move(make_kineto_reader()->read(*source, {}, diagnostics)->front());
}

const CollectiveDetail* detail_of(const RankTrace& trace, std::size_t event) {
  const std::uint32_t detail = trace.events.detail[event];
  const std::uint32_t collective = trace.events.kind[event] == EventKind::kKernel
                                       ? trace.kernels.at(detail).collective
                                       : trace.host_ops.at(detail).collective;
  return collective == kNone ? nullptr : &trace.collectives.at(collective);
}

TEST(Attach, CallsGetSizeKindAndGroupInOrder) {
  RankTrace trace = profile(profile_op("record_param_comms", 20, 7) + "," +
                            profile_op("record_param_comms", 10, 100));
  const ExecutionTrace execution =
      read(file_of(call(5, "allreduce", 100) + "," + call(6, "broadcast", 7)));
  Diagnostics diagnostics;
  EXPECT_EQ(attach(trace, execution, diagnostics), 2);
  EXPECT_EQ(trace.names.text(detail_of(trace, 0)->name), "broadcast");
  EXPECT_EQ(trace.names.text(detail_of(trace, 1)->name), "allreduce");
  EXPECT_EQ(detail_of(trace, 1)->in_elements, 100);
  EXPECT_EQ(detail_of(trace, 1)->group_size, 8);
  EXPECT_TRUE(trace.facts.collective_args);
  EXPECT_EQ(diagnostics.count_of("execution-trace-mismatch"), 0);
}

TEST(Attach, MissingCallDoesNotShiftTheOthers) {
  RankTrace trace = profile(profile_op("record_param_comms", 10, 3) + "," +
                            profile_op("record_param_comms", 20, 4));
  const ExecutionTrace execution =
      read(file_of(call(5, "allreduce", 9) + "," + call(6, "allreduce", 3) + "," +
                   call(7, "allreduce", 8) + "," + call(8, "broadcast", 4)));
  Diagnostics diagnostics;
  EXPECT_EQ(attach(trace, execution, diagnostics), 2);
  EXPECT_EQ(detail_of(trace, 0)->sequence, 336);
  EXPECT_EQ(detail_of(trace, 1)->sequence, 338);
  EXPECT_EQ(diagnostics.count_of("execution-trace-mismatch"), 1);
}

TEST(Attach, KernelsWithoutCallsArePairedByKindInLaunchOrder) {
  const auto kernel = [](const std::string& kind, int ts, int correlation) {
    const std::string c = std::to_string(correlation);
    return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":42,"tid":1,"ts":)" +
           c + R"(,"dur":1,"args":{"correlation":)" + c +
           R"(}},{"ph":"X","cat":"kernel","name":"ncclKernel_)" + kind +
           R"(_RING","pid":0,"tid":7,"ts":)" + std::to_string(ts) +
           R"(,"dur":1,"args":{"stream":7,"device":0,"correlation":)" + c + "}}";
  };
  RankTrace trace = profile(kernel("Broadcast", 90, 2) + "," + kernel("AllReduce", 95, 1));
  const ExecutionTrace execution = read(file_of(
      call(4, "wait", 1) + "," + call(5, "allreduce", 50) + "," + call(6, "broadcast", 60)));
  Diagnostics diagnostics;
  EXPECT_EQ(attach(trace, execution, diagnostics), 2);
  EXPECT_EQ(detail_of(trace, 1)->in_elements, 60);
  EXPECT_EQ(detail_of(trace, 3)->in_elements, 50);
}

TEST(Attach, ValuesOfTheProfileAreNotOverwritten) {
  RankTrace trace = profile(
      R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":42,"tid":1,"ts":1,"dur":1,"args":{
        "Collective name":"allreduce","In msg nelems":100,"Out msg nelems":100,"Group size":4,"dtype":"Float","Process Group Name":"7","Seq":1}})");
  const ExecutionTrace execution = read(file_of(call(5, "allreduce", 100)));
  Diagnostics diagnostics;
  EXPECT_EQ(attach(trace, execution, diagnostics), 0);
  EXPECT_EQ(detail_of(trace, 0)->group_size, 4);
  EXPECT_EQ(diagnostics.count_of("execution-trace-unused"), 1);
}

}  // namespace
}  // namespace weft::trace
