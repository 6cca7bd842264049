// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/model/profile.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace weft::pipeline {
namespace {

constexpr const char* kDiamond =
    "nodeA -- Conv2d(3, 8) -- forward_compute_time=1.5, backward_compute_time=3.000, "
    "activation_size=100.000, parameter_size=40.000\n"
    "nodeB -- x -- y -- forward_compute_time=0.001, backward_compute_time=0, "
    "activation_size=[60.0; 4.0], parameter_size=0.000 -- stage_id=0\n"
    "nodeC -- Input -- forward_compute_time=2, backward_compute_time=2, activation_size=1e3, "
    "parameter_size=8\n"
    "\tnodeC -- nodeA\n"
    "  nodeA -- nodeB\n"
    " nodeC -- nodeB\n"
    "\tnodeC -- nodeB\n";

std::string why(const char* text) {
  const auto profile = parse_profile(text, "p.txt");
  return profile ? "no error" : profile.error().text();
}

TEST(Profile, PipedreamLinesMayBeIndentedAndListSeveralOutputs) {
  const auto profile = parse_profile(kDiamond, "dir/p.txt");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->name, "p.txt");
  ASSERT_EQ(profile->layers.size(), 3u);
  EXPECT_EQ(profile->layers[0].forward, 1'500'000);
  EXPECT_EQ(profile->layers[0].backward, 3'000'000);
  EXPECT_EQ(profile->layers[0].parameters, 40);
  EXPECT_EQ(profile->layers[1].name, "x -- y");
  EXPECT_EQ(profile->layers[1].forward, 1000);
  EXPECT_EQ(profile->layers[1].activation, 64);
  EXPECT_EQ(profile->layers[1].parameters, 0);
  EXPECT_EQ(profile->layers[2].activation, 1000);
  EXPECT_EQ(profile->edges.size(), 3u) << "the repeated edge counts once";
  EXPECT_EQ(linear_order(*profile), (std::vector<std::int32_t>{2, 0, 1}));
}

TEST(Profile, PipedreamGraphsTakeTheNameOfTheirFolder) {
  EXPECT_EQ(parse_profile(kDiamond, "models/vgg16/graph.txt")->name, "vgg16");
  const std::string here = std::filesystem::current_path().filename().string();
  EXPECT_EQ(parse_profile(kDiamond, "graph.txt")->name, here);
}

TEST(Profile, TimeOfLoadingDataIsReportedAndCanBeDropped) {
  const char* sizes = "activation_size=8, parameter_size=0\n";
  const std::string text =
      std::string("a -- Input -- forward_compute_time=3.5, backward_compute_time=0, ") + sizes +
      "b -- Input1 -- forward_compute_time=0, backward_compute_time=0, " + sizes +
      "c -- InputNorm -- forward_compute_time=1, backward_compute_time=2, " + sizes +
      "a -- c\nb -- c\n";
  Profile profile = parse_profile(text, "p.txt").value();
  EXPECT_EQ(input_layers(profile), (std::vector<std::int32_t>{0, 1}));
  Diagnostics reported, dropped;
  note_input_time(profile, reported);
  ASSERT_EQ(reported.all().size(), 1u);
  EXPECT_EQ(reported.all()[0].places,
            std::vector<std::string>{"a (Input), 3.500 ms per micro-batch"});
  drop_input_time(profile);
  note_input_time(profile, dropped);
  EXPECT_TRUE(dropped.empty());
  EXPECT_EQ(profile.layers[0].forward, 0);
  EXPECT_EQ(profile.layers[2].forward, 1'000'000);
}

TEST(Profile, JsonWithoutEdgesIsAChain) {
  const auto profile = parse_profile(
      R"({"name": "two", "layers": [
           {"name": "a", "forward_ms": 1, "backward_ms": 2.5, "weight_ms": 1, "activation_bytes": 7},
           {"id": "b", "forward_ms": 0.5, "backward_ms": 1, "parameter_bytes": 9, "stash_bytes": 3}]})",
      "p.json");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->layers[0].weight, 1'000'000);
  EXPECT_EQ(profile->layers[0].stash, 7);
  EXPECT_EQ(profile->layers[1].stash, 3);
  ASSERT_EQ(profile->edges.size(), 1u);
  EXPECT_EQ(profile->edges[0].to, 1);
}

TEST(Profile, LayersOfSppAreFourNumbersEach) {
  const auto profile = parse_profile(R"({"conv": [1.5, 3, 100, 40], "fc": [2, 2, 8, 400]})", "p");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->layers[0].forward, 1500);
  EXPECT_EQ(profile->layers[1].parameters, 400);
  EXPECT_EQ(profile->edges.size(), 1u);
}

TEST(Profile, NodesOfOneColourAreOneLayerWithItsBackward) {
  const auto profile = parse_profile(
      R"({"maxFPGAs": 2, "nodes": [
           {"id": 0, "name": "a", "fpgaLatency": 1.5, "isBackwardNode": false, "colorClass": 7, "size": 10},
           {"id": 1, "name": "b", "fpgaLatency": 2, "isBackwardNode": 0, "colorClass": 8, "size": 20},
           {"id": 2, "name": "b'", "fpgaLatency": 4, "isBackwardNode": 1, "colorClass": 8, "size": 20},
           {"id": 3, "name": "a'", "fpgaLatency": 3, "isBackwardNode": true, "colorClass": 7, "size": 10},
           {"id": 4, "name": "loss", "fpgaLatency": 1, "isBackwardNode": true, "size": 1}],
         "edges": [{"sourceId": 0, "destId": 1, "cost": 1, "size": 64},
                   {"sourceId": 1, "destId": 4, "cost": 1, "size": 4},
                   {"sourceId": 4, "destId": 2, "cost": 1, "size": 4},
                   {"sourceId": 2, "destId": 3, "cost": 1, "size": 64}]})",
      "p.json");
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->layers.size(), 3u);
  EXPECT_EQ(profile->layers[0].forward, 1'500'000);
  EXPECT_EQ(profile->layers[0].backward, 3'000'000);
  EXPECT_EQ(profile->layers[0].activation, 64);
  EXPECT_EQ(profile->layers[1].stash, 20);
  EXPECT_EQ(profile->layers[2].backward, 1'000'000);
  EXPECT_EQ(linear_order(*profile), (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(Profile, PiperNodesAreReadWithOneDeviceAndWithoutRecomputation) {
  const auto profile = parse_profile(
      R"({"maxDevices": 4, "bandwidth": 1e9, "nodes": [
           {"id": 0, "name": "a", "TMPCs": {"1": [
             {"id": "vanilla", "timePerSample": 0.003, "parameterSize": 40, "memoryUsageA": 9},
             {"id": "activation recomp", "timePerSample": 0.004, "parameterSize": 40, "memoryUsageA": 1}]}},
           {"id": 1, "name": "b", "TMPCs": {"1": [
             {"id": "vanilla", "timePerSample": 0.006, "parameterSize": 0, "memoryUsageA": 5}]}}],
         "edges": [{"sourceId": 0, "destId": 1, "communicationCost": 128.0}]})",
      "p.json");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->layers[0].forward, 1'000'000);
  EXPECT_EQ(profile->layers[0].backward, 2'000'000);
  EXPECT_EQ(profile->layers[0].parameters, 40);
  EXPECT_EQ(profile->layers[0].stash, 9);
  EXPECT_EQ(profile->layers[0].activation, 128);
  EXPECT_EQ(profile->edges.size(), 1u);
}

constexpr const char* kBlocks =
    "bs,time_f,time_b,time_kron,mem_param,mem_act,mem_save_err\r\n"
    "1,1.5,2.5,9,27,8.5,4.5\r\n"
    "2,3,4.5,9,27,17,9\r\n";

TEST(Profile, ChimeraTablesGiveOneBlockThatIsRepeated) {
  const auto profile = parse_profile(kBlocks, "p.csv", "2x3");
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->layers.size(), 3u);
  EXPECT_EQ(profile->edges.size(), 2u);
  EXPECT_EQ(profile->layers[2].id, "block.2");
  EXPECT_EQ(profile->layers[2].forward, 3'000'000);
  EXPECT_EQ(profile->layers[2].backward, 4'500'000);
  EXPECT_EQ(profile->layers[2].parameters, 27 << 20);
  EXPECT_EQ(profile->layers[2].stash, 17 << 20);
  EXPECT_EQ(profile->layers[2].activation, 1 << 20);
  for (const char* wanted : {"", "2", "x3", "3x4", "2x0", "2x1000000"}) {
    const auto none = parse_profile(kBlocks, "p.csv", wanted);
    ASSERT_FALSE(none) << wanted;
    EXPECT_NE(none.error().message.find("has the sizes 1"), std::string::npos)
        << none.error().message;
  }
}

TEST(Profile, ErrorsNameTheLayerOrFieldThatIsWrong) {
  EXPECT_NE(why("").find("empty"), std::string::npos);
  EXPECT_NE(why("hello").find("line 1: this is not a profile"), std::string::npos);
  EXPECT_NE(why("a -- b -- forward_compute_time=1, activation_size=1, parameter_size=1")
                .find("needs a backward_compute_time"),
            std::string::npos);
  EXPECT_NE(why("a -- b -- forward_compute_time=-1, backward_compute_time=1, activation_size=1, "
                "parameter_size=1")
                .find("'a' has a negative time"),
            std::string::npos);
  EXPECT_NE(
      why(R"({"layers": [{"id": "x", "backward_ms": 1}]})").find("needs a number 'forward_ms'"),
      std::string::npos);
  EXPECT_NE(why(R"({"layers": [{"id": "x", "forward_ms": 1e30, "backward_ms": 1}]})")
                .find("'forward_ms' is 1e30, which is too large"),
            std::string::npos);
  EXPECT_NE(why(R"({"layers": [{"id": "x", "forward_ms": NaN, "backward_ms": 1}]})")
                .find("needs a number 'forward_ms'"),
            std::string::npos);
  EXPECT_NE(why(R"({"layers": [{"id": "x", "forward_ms": 1, "backward_ms": 1},
                               {"id": "y", "forward_ms": 1, "backward_ms": 1}],
                    "edges": [["x", "y"], ["y", "x"]]})")
                .find("cycle"),
            std::string::npos);
  EXPECT_NE(why(R"({"layers": [{"id": "x", "forward_ms": 1, "backward_ms": 1}],
                    "edges": [["x", "z"]]})")
                .find("'z'"),
            std::string::npos);
  EXPECT_NE(why("{}").find("no list 'layers'"), std::string::npos);
  EXPECT_NE(why(R"({"nodes": [{"id": 0, "fpgaLatency": "x"}], "edges": []})").find("'fpgaLatency'"),
            std::string::npos);
  EXPECT_NE(why(R"({"nodes": [{"id": 0, "fpgaLatency": 1, "size": 1}],
                    "edges": [{"sourceId": 0, "destId": 5}]})")
                .find("the id of no node"),
            std::string::npos);
  EXPECT_NE(why(R"({"nodes": [{"id": 0, "TMPCs": {"2": []}}], "edges": []})").find("'TMPCs'"),
            std::string::npos);
  EXPECT_NE(why("bs,time_f,time_b\n").find("no rows"), std::string::npos);
}

}  // namespace
}  // namespace weft::pipeline
