// SPDX-License-Identifier: Apache-2.0
#include "bench/settings_bars.h"

#include <algorithm>
#include <cmath>

#include "weft/base/parallel.h"

namespace weft::accuracy {
namespace {

/// The order of two settings is clear if their noise ranges are this far apart.
constexpr double kClearDifference = 0.03;
/// The direction of a change is clear if the mean changes by more than this and the noise ranges do
/// not touch.
constexpr double kClearChange = 0.06;

double ms(Nanos time) { return static_cast<double>(time) / 1e6; }

/// How far `value` is outside of `range`, relative to the nearer end. 0 if it is inside.
double beyond(double value, const Range& range) {
  if (value < range.low) return value / range.low - 1;
  return value > range.high ? value / range.high - 1 : 0;
}

Answer answer(const predict::Predictor& predictor, const std::string& what_if) {
  std::vector<predict::WhatIf> what_ifs;
  if (!what_if.empty()) what_ifs.push_back(predict::parse_what_if(what_if).value());
  const auto step = what_if.empty() ? predictor.baseline() : predictor.ask(what_ifs);
  Answer found;
  if (!step) {
    found.refused = step.error().message;
  } else {
    found.step = ms(step->step);
    found.bar = {ms(step->low), ms(step->high)};
  }
  return found;
}

/// True if a takes longer than b by more than `least`, beyond noise.
bool clearly_longer(const Setting& a, const Setting& b, double least) {
  return a.noise.low > b.noise.high * (1 + least);
}

void count_pairs(Figures& figures, const std::vector<Compared>& compared, bool with_table) {
  const auto of = [&](const Compared& c) { return with_table ? c.with_table : c.without_table; };
  for (const Compared& slow : compared) {
    for (const Compared& fast : compared) {
      if (slow.set != fast.set || !of(slow).known() || !of(fast).known()) continue;
      if (!clearly_longer(*slow.setting, *fast.setting, kClearDifference)) continue;
      ++figures.pairs;
      figures.ordered_pairs += of(slow).step > of(fast).step ? 1 : 0;
    }
  }
}

/// Compares the measured direction of a change with the predicted direction. Measured times are
/// compared with measured times, and predictions with predictions.
void count_change(Figures& figures, const Compared& usual, const Compared& c, bool with_table) {
  const Setting &before = *usual.setting, &after = *c.setting;
  const double change = after.mean() / before.mean() - 1;
  const bool clear = std::abs(change) > kClearChange &&
                     (clearly_longer(after, before, 0) || clearly_longer(before, after, 0));
  if (!clear) return;
  const double predicted = with_table ? c.with_table.step - usual.with_table.step
                                      : c.without_table.step - usual.without_table.step;
  ++figures.clear_changes;
  figures.wrong_changes += (change > 0) == (predicted > 0) && predicted != 0 ? 0 : 1;
}

std::string range_text(const Range& range) {
  const std::string low = fixed(range.low, 1);
  return range.low == range.high ? low : low + " to " + fixed(range.high, 1);
}

void add_cells(std::vector<std::string>& cells, const Answer& answer, const Setting& setting) {
  if (!answer.known()) {
    cells.insert(cells.end(), {"refused", "", "", ""});
    return;
  }
  const std::string bar = "-" + per_cent(1 - answer.bar.low / answer.step, 1) + " +" +
                          per_cent(answer.bar.high / answer.step - 1, 1);
  cells.insert(cells.end(),
               {fixed(answer.step, 1), signed_per_cent(beyond(answer.step, setting.measured)),
                signed_per_cent(beyond(answer.step, setting.noise)), bar});
}

}  // namespace

Result<std::vector<Compared>> compare_settings(const SettingsSet& set) {
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, predict::open_job(set.inputs, {}, diagnostics));
  predict::PredictOptions options;
  WEFT_ASSIGN(const predict::Predictor alone, predict::Predictor::make(job, options));
  options.links = set.links;
  WEFT_ASSIGN(const predict::Predictor with_table, predict::Predictor::make(job, options));
  std::vector<Compared> compared = {{&set, &set.usual, {}, {}}};
  for (const Setting& setting : set.settings) {
    if (setting.what_if.empty() || !predict::parse_what_if(setting.what_if)) continue;
    compared.push_back({&set, &setting, {}, {}});
  }
  parallel_for(compared.size(), [&](std::size_t i) {
    const std::string what_if = compared[i].changed() ? compared[i].setting->what_if : "";
    compared[i].with_table = answer(with_table, what_if);
    compared[i].without_table = answer(alone, what_if);
  });
  return compared;
}

Figures figures_of(const std::vector<Compared>& compared, bool with_table) {
  Figures figures;
  const Compared* usual = nullptr;
  int changed = 0, answers = 0;
  for (const Compared& c : compared) {
    if (!c.changed()) usual = &c;
    const Answer& answer = with_table ? c.with_table : c.without_table;
    if (!answer.known()) {
      ++figures.refused;
      continue;
    }
    ++answers;
    figures.half_width += (answer.bar.high - answer.bar.low) / 2 / answer.step;
    for (const double run : c.setting->runs) {
      ++figures.measurements;
      figures.inside += run >= answer.bar.low && run <= answer.bar.high ? 1 : 0;
    }
    if (!c.changed()) continue;
    ++changed;
    const double error = std::abs(beyond(answer.step, c.setting->noise));
    figures.mean_error += error;
    figures.worst_error = std::max(figures.worst_error, error);
    figures.mean_distance += std::abs(beyond(answer.step, c.setting->measured));
    count_change(figures, *usual, c, with_table);
  }
  count_pairs(figures, compared, with_table);
  figures.mean_error /= std::max(1, changed);
  figures.mean_distance /= std::max(1, changed);
  figures.half_width /= std::max(1, answers);
  return figures;
}

Table settings_table(const std::vector<Compared>& compared) {
  Table table{
      "Changed settings on a GPU",
      "Jobs recorded once with `usual` settings are predicted under other settings and compared "
      "with runs without profiler. `distance` is the distance to the nearest measured run. `error` "
      "is the part of the distance that noise does not explain. It is 0 if the prediction is "
      "within the standard error of the measured mean. This standard error follows from the "
      "scatter of the runs of the usual setting. The columns at the right are predictions without "
      "a link table.",
      {"recording", "setting", "measured ms", "noise", "predicted ms", "distance", "error",
       "error bar", "no table: ms", "distance", "error", "error bar"},
      {}};
  for (const Compared& c : compared) {
    const Setting& s = *c.setting;
    std::vector<std::string> cells = {c.set->name, s.name, range_text(s.measured),
                                      "±" + per_cent(c.set->scatter, 1)};
    add_cells(cells, c.with_table, s);
    add_cells(cells, c.without_table, s);
    table.add(std::move(cells));
  }
  return table;
}

Table figures_table(const Figures& with_table, const std::optional<Limits>& with_limits,
                    const Figures& without_table, const std::optional<Limits>& without_limits) {
  Table table{
      "Changed settings on a GPU: bars",
      "A pair of settings counts if the measured steps of the two differ by more than 3 % "
      "beyond noise. The direction of a change counts if the change is more than 6 % beyond "
      "noise. Error bars are nominal 90 % ranges of single runs.",
      {"predictions", "figure", "value", "bar"},
      {}};
  const auto add = [&](const std::string& which, const Figures& f,
                       const std::optional<Limits>& limits) {
    const auto row = [&](const std::string& name, const std::string& value, const std::string& bar,
                         bool good) {
      table.add({which, name, value, limits ? bar : ""}, !limits ? Verdict::kNone
                                                         : good  ? Verdict::kPass
                                                                 : Verdict::kFail);
    };
    const Limits l = limits.value_or(Limits{});
    row("mean error beyond noise", per_cent(f.mean_error), "at most " + per_cent(l.mean_error),
        f.mean_error <= l.mean_error);
    row("worst error beyond noise", per_cent(f.worst_error), "at most " + per_cent(l.worst_error),
        f.worst_error <= l.worst_error);
    table.add({which, "mean distance to the nearest run", per_cent(f.mean_distance), ""});
    row("pairs in the right order",
        std::to_string(f.ordered_pairs) + " of " + std::to_string(f.pairs) + ", " +
            per_cent(f.ordered(), 1),
        "at least " + per_cent(l.ordered, 1), f.ordered() >= l.ordered);
    row("wrong directions",
        std::to_string(f.wrong_changes) + " of " + std::to_string(f.clear_changes),
        "at most " + std::to_string(l.wrong_changes), f.wrong_changes <= l.wrong_changes);
    row("measurements inside the error bar",
        std::to_string(f.inside) + " of " + std::to_string(f.measurements) + ", " +
            per_cent(f.covered(), 1),
        per_cent(l.covered_least, 1) + " to " + per_cent(l.covered_most, 1),
        f.covered() >= l.covered_least && f.covered() <= l.covered_most);
    row("mean half width of the error bars", per_cent(f.half_width),
        "at most " + per_cent(l.half_width), f.half_width <= l.half_width);
    table.add({which, "settings refused", std::to_string(f.refused), ""});
  };
  add("with table", with_table, with_limits);
  add("without", without_table, without_limits);
  return table;
}

}  // namespace weft::accuracy
