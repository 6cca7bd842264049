// SPDX-License-Identifier: Apache-2.0
#include "bench/settings_sets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "weft/base/json/document.h"

namespace weft::accuracy {
namespace {

namespace fs = std::filesystem;

/// What-ifs for the names of settings. A name that ends with "*" stands for all names with this
/// beginning that end with a number. The number replaces the "*" of the what-if.
struct Description {
  std::string_view setting, what_if;
};
constexpr std::array<Description, 10> kDescriptions = {{
    {"bucket*", "ddp.bucket_mb=*"},
    {"no_sync", "comm=off"},
    {"batch2", "batch=2x"},
    {"accumulate*", "accumulate=*"},
    {"bf16", "precision=bf16"},
    {"wire_bf16", "gradient.precision=bf16"},
    {"recompute", "recompute=all"},
    {"find_unused", "ddp.find_unused_parameters=on"},
    {"buckets_list", "ddp.buckets=2,8,16,40"},
    {"no_find_unused", "ddp.find_unused_parameters=off"},
}};

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Setting make_setting(std::string name, std::vector<double> runs) {
  Setting setting;
  setting.what_if = what_if_of(name);
  setting.name = std::move(name);
  setting.runs = std::move(runs);
  const auto [low, high] = std::minmax_element(setting.runs.begin(), setting.runs.end());
  setting.measured = {*low, *high};
  return setting;
}

/// Sets `scatter` and the noise of all settings.
void judge_noise(SettingsSet& set) {
  const double mean = set.usual.mean();
  double squares = 0;
  for (const double run : set.usual.runs) squares += (run - mean) * (run - mean);
  if (set.usual.runs.size() > 1) {
    set.scatter = std::sqrt(squares / static_cast<double>(set.usual.runs.size() - 1)) / mean;
  }
  const auto widen = [&](Setting& setting) {
    const double error =
        setting.mean() * set.scatter / std::sqrt(static_cast<double>(setting.runs.size()));
    setting.noise = {std::min(setting.measured.low, setting.mean() - error),
                     std::max(setting.measured.high, setting.mean() + error)};
  };
  widen(set.usual);
  for (Setting& setting : set.settings) widen(setting);
}

tl::unexpected<Error> bad_truth(const fs::path& file) {
  return fail(ErrorCode::kBadInput, "this is not a truth file: it lacks step times", file.string());
}

Result<SettingsSet> read_recorded(const fs::path& folder) {
  SettingsSet set;
  set.name = folder.filename().string();
  // The folder `memory` beside the ranks holds another recording.
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".weft") set.inputs.push_back(entry.path().string());
  }
  std::sort(set.inputs.begin(), set.inputs.end());
  const std::string table = set.name.ends_with("-w2") ? "links-w2.json" : "links-w4.json";
  WEFT_ASSIGN(set.links, cost::read_links((folder.parent_path() / table).string()));
  const fs::path file = folder / "truth.json";
  WEFT_ASSIGN(const JsonValue truth, read_json(file.string()));
  for (std::size_t i = 0; i < truth.keys.size(); ++i) {
    std::vector<double> runs;
    for (const JsonValue& run : truth.items[i].items) {
      const JsonValue* time = run.find("step_ms");
      const auto ms = time ? time->as_double() : std::nullopt;
      if (!ms || !(*ms > 0)) return bad_truth(file);
      runs.push_back(*ms);
    }
    if (runs.empty()) return bad_truth(file);
    Setting setting = make_setting(truth.keys[i], std::move(runs));
    (setting.name == "usual" ? set.usual : set.settings.emplace_back()) = std::move(setting);
  }
  if (set.usual.runs.empty()) return bad_truth(file);
  judge_noise(set);
  return set;
}

Result<SettingsSet> read_shared(const fs::path& file) {
  SettingsSet set;
  const std::string name = file.filename().string();
  set.name = name.substr(0, name.find('.'));
  set.inputs = {(file.parent_path() / (set.name + "-r*")).string()};
  set.name = "h200-nccl/" + set.name;
  WEFT_ASSIGN(const JsonValue truth, read_json(file.string()));
  const JsonValue* world = truth.find("world");
  const JsonValue* variants = truth.find("variants");
  if (!world || !variants) return bad_truth(file);
  for (const char* collective : {"allreduce", "all_gather", "reduce_scatter", "send_recv"}) {
    const fs::path table =
        file.parent_path() / (std::string(collective) + "-w" + world->text + ".json");
    if (!fs::exists(table)) continue;
    WEFT_ASSIGN(const std::vector<cost::LinkTable> tables, cost::read_links(table.string()));
    set.links.insert(set.links.end(), tables.begin(), tables.end());
  }
  for (std::size_t i = 0; i < variants->keys.size(); ++i) {
    const JsonValue* time = variants->items[i].find("pipelined_ms");
    const auto ms = time ? time->as_double() : std::nullopt;
    if (!ms || !(*ms > 0)) return bad_truth(file);
    const std::string& variant = variants->keys[i];
    const std::string first = variant.substr(0, variant.find("_again"));
    if (first == "bucket25" || first == "base") {
      set.usual.runs.push_back(*ms);
    } else {
      set.settings.push_back(make_setting(variant, {*ms}));
    }
  }
  if (set.usual.runs.empty()) return bad_truth(file);
  // Buckets of 25 MiB were recorded, so this setting is the usual one. It is also a setting that a
  // what-if predicts.
  if (variants->find("bucket25")) {
    set.settings.insert(set.settings.begin(), make_setting("bucket25", set.usual.runs));
  }
  set.usual = make_setting("usual", set.usual.runs);
  judge_noise(set);
  return set;
}

}  // namespace

double Setting::mean() const {
  return std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
}

std::string what_if_of(const std::string& setting) {
  for (const auto& [name, what_if] : kDescriptions) {
    if (setting == name) return std::string(what_if);
    if (!name.ends_with('*')) continue;
    const std::string_view beginning = name.substr(0, name.size() - 1);
    if (!setting.starts_with(beginning)) continue;
    const std::string number = setting.substr(beginning.size());
    if (!is_number(number)) continue;
    return std::string(what_if.substr(0, what_if.size() - 1)) + number;
  }
  return {};
}

Result<std::vector<SettingsSet>> recorded_settings(const std::string& data) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(data, ignored)) {
    if (fs::exists(entry.path() / "truth.json")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<SettingsSet> sets;
  for (const fs::path& folder : folders) {
    WEFT_ASSIGN(SettingsSet set, read_recorded(folder));
    sets.push_back(std::move(set));
  }
  return sets;
}

Result<std::vector<SettingsSet>> shared_settings(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().string().ends_with(".truth.json")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<SettingsSet> sets;
  for (const fs::path& file : files) {
    WEFT_ASSIGN(SettingsSet set, read_shared(file));
    sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace weft::accuracy
