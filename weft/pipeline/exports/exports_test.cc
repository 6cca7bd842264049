// SPDX-License-Identifier: Apache-2.0
// Checks that an export is right for the program that reads it: messages have the same order on
// both sides, gradients are reduced once, and a plan that the program would misunderstand is
// refused.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "weft/base/json/document.h"
#include "weft/pipeline/exports/json.h"
#include "weft/pipeline/exports/megatron.h"
#include "weft/pipeline/exports/torch.h"
#include "weft/pipeline/model/random_pipeline.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/list_schedule.h"

namespace weft::pipeline::exports {
namespace {

std::vector<std::vector<std::string>> cells(const std::string& csv) {
  std::vector<std::vector<std::string>> rows(1);
  std::string cell;
  for (const char c : csv) {
    if (c != ',' && c != '\n') {
      cell += c;
      continue;
    }
    rows.back().push_back(std::move(cell));
    cell.clear();
    if (c == '\n') rows.emplace_back();
  }
  rows.pop_back();
  return rows;
}

struct Action {
  StageId stage = 0;
  std::string kind;
  Micro micro = -1;
};

Action parsed(const std::string& cell) {
  const std::size_t kind = cell.find_first_not_of("0123456789");
  const std::size_t micro = cell.find_last_not_of("0123456789") + 1;
  return {std::stoi(cell.substr(0, kind)), cell.substr(kind, micro - kind),
          micro < cell.size() ? std::stoi(cell.substr(micro)) : -1};
}

std::string compute_only_of(const Scheduled& scheduled) {
  return torch_csv(scheduled, TorchFormat::kComputeOnly, {})->text;
}

/// Runs the rows as torch does: sends never wait, and an op waits for the receives that it needs.
/// Two ranks must have their messages in the same order.
void run(const Scheduled& scheduled, const std::string& csv) {
  const auto rows = cells(csv);
  const auto& stages = scheduled.pipeline.stages;
  const Micro micros = scheduled.pipeline.micro_batches;
  std::map<std::pair<DeviceId, DeviceId>, std::vector<std::string>> sent, received;
  std::string ops;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    std::set<StageId> gathered;
    std::map<StageId, Micro> gradients;
    std::set<std::string> here;
    std::string line;
    for (const std::string& cell : rows[rank]) {
      const Action action = parsed(cell);
      ASSERT_EQ(stages[action.stage].device, static_cast<DeviceId>(rank)) << cell;
      const bool forward = action.kind.ends_with("F");
      const StageId other =
          action.kind.starts_with("SEND") == forward ? action.stage + 1 : action.stage - 1;
      const std::string micro = std::to_string(action.micro);
      if (action.kind == "UNSHARD") {
        EXPECT_TRUE(gathered.insert(action.stage).second) << cell;
        EXPECT_LE(gathered.size(), 3u);
      } else if (action.kind == "RESHARD") {
        EXPECT_EQ(gathered.erase(action.stage), 1u) << cell;
      } else if (action.kind == "REDUCE_GRAD") {
        EXPECT_EQ(gradients[action.stage], micros) << cell;
        gradients[action.stage] = -1;
      } else if (action.kind.starts_with("SEND")) {
        EXPECT_TRUE(here.contains(std::to_string(action.stage) + (forward ? "F" : "G") + micro));
        sent[{static_cast<DeviceId>(rank), stages[other].device}].push_back(
            std::to_string(other) + action.kind.substr(5) + micro);
      } else if (action.kind.starts_with("RECV")) {
        received[{stages[other].device, static_cast<DeviceId>(rank)}].push_back(
            std::to_string(action.stage) + action.kind.substr(5) + micro);
        here.insert(std::to_string(action.stage) + (forward ? "RF" : "RG") + micro);
      } else {
        EXPECT_TRUE(gathered.contains(action.stage)) << cell;
        const bool gradient = action.kind == "B" || action.kind == "I";
        const StageId from = action.kind == "F" ? action.stage - 1 : action.stage + 1;
        const char* what = gradient ? "G" : "F";
        if (action.kind != "W" && from >= 0 && from < static_cast<StageId>(stages.size())) {
          const bool local = stages[from].device == static_cast<DeviceId>(rank);
          EXPECT_TRUE(here.contains(
              (local ? std::to_string(from) : std::to_string(action.stage) + "R") + what + micro))
              << cell;
        }
        if (action.kind != "W") here.insert(std::to_string(action.stage) + what + micro);
        gradients[action.stage] += action.kind == "B" || action.kind == "W";
        line += (line.empty() ? "" : ",") + cell;
      }
    }
    EXPECT_TRUE(gathered.empty());
    for (const auto& [stage, count] : gradients) EXPECT_EQ(count, -1) << "stage " << stage;
    ops += line + "\n";
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(ops, compute_only_of(scheduled));
}

Scheduled scheduled_as(const Pipeline& pipeline, const std::string& name) {
  const auto schedule = name == "zb-auto" ? zb_auto(pipeline) : family(name, pipeline);
  EXPECT_TRUE(schedule) << schedule.error().text();
  auto scheduled = scheduled_pipeline(pipeline, *schedule, name);
  EXPECT_TRUE(scheduled) << scheduled.error().text();
  return std::move(*scheduled);
}

TEST(TorchCsv, MessagesOfAllFamiliesMatch) {
  std::mt19937 random(3);
  for (int round = 0; round < 6; ++round) {
    const auto micros = static_cast<Micro>(8 + round);
    const LinkId shared = round % 3;
    const Pipeline flat = random_pipeline({4, 4, false, micros, 0, shared}, random);
    for (const char* name : {"gpipe", "1f1b", "zb-h1", "zb-auto", "interleaved"}) {
      const Scheduled scheduled = scheduled_as(flat, name);
      run(scheduled, torch_csv(scheduled, TorchFormat::kComputeComms, {})->text);
    }
    const Pipeline dealt = random_pipeline({16, 4, false, micros, 0, shared}, random);
    for (const char* name : {"gpipe", "interleaved", "zb-auto"}) {
      const Scheduled scheduled = scheduled_as(dealt, name);
      run(scheduled, torch_csv(scheduled, TorchFormat::kComputeComms, {})->text);
    }
    const Pipeline v = random_pipeline({8, 4, true, micros, 0, shared}, random);
    for (const char* name : {"zb-v", "dualpipe-v", "zb-auto"}) {
      const Scheduled scheduled = scheduled_as(v, name);
      run(scheduled, torch_csv(scheduled, TorchFormat::kComputeComms, {})->text);
    }
  }
}

TEST(TorchCsv, GradientsAreReducedByActionsFromTwoTenOn) {
  const Scheduled scheduled = scheduled_as(make_chain({2, 2}, {1, 1}, {1, 1}, 0, 2), "1f1b");
  const auto text = [&](TorchVersion version) {
    return torch_csv(scheduled, TorchFormat::kComputeComms, version)->text;
  };
  EXPECT_NE(text({2, 10}).find("0B1,0REDUCE_GRAD,0RESHARD\n"), std::string::npos);
  EXPECT_NE(text({2, 9}).find("0B1,0RESHARD\n"), std::string::npos);
  EXPECT_EQ(compute_only_of(scheduled), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST(TorchCsv, NeighbouringStagesOnOneRankAreNotedForOldVersions) {
  const Scheduled v = scheduled_as(make_chain({1, 1}, {1, 1}, {1, 1}, 0, 2), "gpipe");
  EXPECT_TRUE(torch_csv(v, TorchFormat::kComputeOnly, {2, 11})->notes.empty());
  Pipeline one = v.pipeline;
  one.stages[1].device = 0;
  const Scheduled shared = scheduled_as(one, "gpipe");
  const auto old = torch_csv(shared, TorchFormat::kComputeOnly, {2, 11});
  ASSERT_EQ(old->notes.size(), 1u);
  EXPECT_NE(old->notes[0].find("stages 0 and 1 share a rank"), std::string::npos);
  EXPECT_TRUE(torch_csv(shared, TorchFormat::kComputeOnly, {2, 13})->notes.empty());
}

TEST(TorchCsv, MicroBatchesAreNumberedAsTheLastStageRunsThem) {
  const Pipeline pipeline = make_chain({1, 1}, {1, 1}, {1, 1}, 0, 2);
  const auto swapped =
      scheduled_pipeline(pipeline, *parse_schedule("0F1 0F0 0B0 0B1\n1F1 1F0 1B0 1B1"), "own");
  ASSERT_TRUE(swapped);
  const auto exported = torch_csv(*swapped, TorchFormat::kComputeOnly, {});
  EXPECT_EQ(exported->text, "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n");
  EXPECT_EQ(exported->notes.size(), 1u);
}

TEST(TorchCsv, RowsAreInTheOrderOfTheDevices) {
  Scheduled scheduled = scheduled_as(make_chain({1, 1}, {1, 1}, {1, 1}, 0, 1), "gpipe");
  scheduled.devices = {{7, 9}, {2, 4}};
  const auto exported = torch_csv(scheduled, TorchFormat::kComputeOnly, {});
  EXPECT_EQ(exported->text, "1F0,1B0\n0F0,0B0\n");
  EXPECT_EQ(exported->notes.at(0),
            "the pipeline runs as 2 data-parallel replicas; its ranks run on devices 2, 4; 7, 9");
}

TEST(TorchCsv, UnequalReplicasAreRefusedWithWhatRunsThem) {
  Scheduled scheduled = scheduled_as(make_chain({1, 1}, {1, 1}, {1, 1}, 0, 1), "gpipe");
  scheduled.devices = {{0}, {1, 2}};
  const auto refused = torch_csv(scheduled, TorchFormat::kComputeOnly, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInfeasible);
  EXPECT_NE(refused.error().message.find("weft.torch.pipeline"), std::string::npos);
}

TEST(TorchCsv, VersionsAreReadWithTheirSuffixes) {
  EXPECT_EQ(*parse_torch_version("2.13.0+cpu"), (TorchVersion{2, 13}));
  EXPECT_EQ(*parse_torch_version("2.6"), (TorchVersion{2, 6}));
  for (const char* text : {"", "2", "torch", "2.", "-1.3", "2.x"}) {
    EXPECT_FALSE(parse_torch_version(text)) << text;
  }
  EXPECT_NE(parse_torch_version("2.5").error().message.find("2.6"), std::string::npos);
}

/// A pipeline of layers with these ids and parameter bytes. Stage s ends before layer `ends[s]`.
Scheduled with_layers(const std::vector<std::pair<std::string, Bytes>>& layers,
                      const std::vector<std::int32_t>& ends) {
  const std::vector<Nanos> ones(ends.size(), 1);
  Scheduled scheduled = scheduled_as(make_chain(ones, ones, ones, 0, 1), "gpipe");
  std::int32_t first = 0;
  for (std::size_t s = 0; s < ends.size(); ++s) {
    scheduled.stages.push_back({first, ends[s], {static_cast<std::int32_t>(s)}, false});
    first = ends[s];
  }
  for (const auto& [id, parameters] : layers) {
    Layer layer;
    layer.id = id;
    layer.parameters = parameters;
    scheduled.layers.push_back(std::move(layer));
  }
  return scheduled;
}

TEST(MegatronLayout, HasALetterForEmbeddingLayersAndLoss) {
  const auto layout = megatron_layout(with_layers({{"tok_embeddings", 9},
                                                   {"h.0", 5},
                                                   {"h.1", 5},
                                                   {"h.2", 5},
                                                   {"h.3", 5},
                                                   {"h.4", 5},
                                                   {"ln_f", 1},
                                                   {"lm_head", 9}},
                                                  {2, 6, 8}));
  ASSERT_TRUE(layout) << layout.error().text();
  EXPECT_EQ(layout->text, "Et|t*4|L\n");
  EXPECT_NE(layout->notes.at(0).find("--num-layers 5"), std::string::npos);
}

TEST(MegatronLayout, TheFirstAndTheLastLayerMayHoldEmbeddingAndHead) {
  const auto layout = megatron_layout(
      with_layers({{"0.layer", 90}, {"1.layer", 5}, {"2.layer", 5}, {"3.layer", 70}}, {1, 4}));
  ASSERT_TRUE(layout) << layout.error().text();
  EXPECT_EQ(layout->text, "Et|tttL\n");
}

TEST(MegatronLayout, PlansThatItCannotExpressAreRefused) {
  const auto why = [](const Scheduled& scheduled) {
    const auto layout = megatron_layout(scheduled);
    return layout ? layout->text : layout.error().message;
  };
  const Scheduled unlike =
      with_layers({{"node1", 9}, {"node2", 5}, {"node3", 0}, {"node4", 5}}, {1, 4});
  EXPECT_NE(why(unlike).find("differ, but"), std::string::npos) << why(unlike);
  const Scheduled cut = with_layers({{"wte", 9}, {"wpe", 5}, {"h.0", 5}, {"h.1", 5}}, {1, 4});
  EXPECT_NE(why(cut).find("is inside the embedding"), std::string::npos) << why(cut);
  Scheduled v = with_layers({{"h.0", 5}, {"h.1", 5}, {"h.2", 5}, {"h.3", 5}}, {1, 2, 3, 4});
  v.pipeline.stages[2].device = 1;
  v.pipeline.stages[3].device = 0;
  v.devices.resize(2);
  EXPECT_EQ(
      why(v),
      "Megatron's layout cannot express this plan: Megatron assigns stages to 2 ranks in turn, "
      "but this plan has stage 2 on device 1 instead of 0; plan with --chunks 1 --replicas 1, "
      "or --schedule interleaved --replicas 1; weft.torch.pipeline runs any plan");
  Scheduled odd = with_layers({{"h.0", 5}, {"h.1", 5}, {"h.2", 5}}, {1, 2, 3});
  odd.pipeline.stages[2].device = 0;
  odd.devices.resize(2);
  EXPECT_NE(why(odd).find("gives 2 ranks equal numbers of stages, but there are 3 stages"),
            std::string::npos)
      << why(odd);
  Scheduled unequal = with_layers({{"h.0", 5}, {"h.1", 5}}, {1, 2});
  unequal.devices[1] = {1, 2};
  EXPECT_NE(why(unequal).find("weft.torch.pipeline"), std::string::npos);
}

TEST(JsonSchedule, HasEveryOpAndTransferWithItsTime) {
  const Scheduled scheduled = scheduled_as(make_chain({2, 3}, {1, 1}, {1, 1}, 4, 2), "1f1b");
  const auto json = parse_json(json_schedule(scheduled).text, "schedule.json");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("step")->as_int(), scheduled.timeline.makespan);
  EXPECT_EQ(json->find("transfers")->items.size(), 4u);
  const JsonValue& op = json->find("groups")->items[1].find("ops")->items[0];
  EXPECT_EQ(op.find("kind")->text, "F");
  EXPECT_EQ(op.find("start")->as_int(), 6);
  EXPECT_EQ(op.find("end")->as_int(), 9);
}

}  // namespace
}  // namespace weft::pipeline::exports
