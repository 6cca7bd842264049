// SPDX-License-Identifier: Apache-2.0
#include "cli/diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/shell/format.h"

namespace weft::cli {
namespace {

using diagnose::Comparison;
using diagnose::OpChange;

constexpr std::size_t kChangedShown = 4;
constexpr std::size_t kOneSidedShown = 2;
/// Ops that change by less than this share of the step are left out.
constexpr double kWorthALine = 0.0005;

std::string signed_ms(Nanos time) {
  return fmt::format("{}{}", time > 0 ? "+" : time < 0 ? "-" : "", format_ms(std::abs(time)));
}

std::string step_line(const Comparison& comparison, const Terminal& terminal) {
  // Only a change above the noise gets a colour: red if the step got longer, green if shorter.
  const Nanos change = comparison.after_step - comparison.before_step;
  const Tone tone = !comparison.beyond_noise() ? Tone::kPlain
                    : change > 0               ? Tone::kBad
                                               : Tone::kGood;
  std::string text = fmt::format(
      "step {} -> {} ms: {}", format_ms(comparison.before_step), format_ms(comparison.after_step),
      paint(terminal, tone, fmt::format("{:+.1f}%", 100 * comparison.change())));
  if (comparison.noise > 0) {
    text += fmt::format(", {} noise ({} ms)", comparison.beyond_noise() ? "beyond" : "within",
                        format_ms(comparison.noise));
  }
  if (comparison.predicted) text += ", without profiler";
  return text + "\n";
}

std::string cause_table(const Comparison& comparison, const Terminal& terminal) {
  if (comparison.causes.empty()) return "";
  Table table({{"cause, mean of ranks", Align::kLeft}, {"before ms"}, {"after ms"}, {"change ms"}});
  for (const diagnose::CauseChange& cause : comparison.causes) {
    // In a prediction, the part "host" also contains what `weft diagnose` calls idle.
    const bool coarse = comparison.predicted && cause.name == "host";
    table.add_row({coarse ? "idle" : cause.name, format_ms(cause.before), format_ms(cause.after),
                   signed_ms(cause.after - cause.before)});
  }
  return table.print(terminal);
}

/// How often the op runs per step: "6", or "6 -> 8" if the runs differ.
std::string counts(const OpChange& op) {
  if (op.count_before == op.count_after) return fmt::format("{:.0f}", op.count_after);
  return fmt::format("{:.0f} -> {:.0f}", op.count_before, op.count_after);
}

/// The table of ops: first the largest changes of ops that both runs have, then ops that only one
/// run has. Each list is sorted by change, so it ends at the first change below the limit.
std::string op_table(const Comparison& comparison, bool everything, const Terminal& terminal) {
  const auto least = static_cast<Nanos>(kWorthALine * static_cast<double>(comparison.before_step));
  Table table(
      {{"change ms"}, {"after ms"}, {"per step"}, {"", Align::kLeft}, {"op", Align::kLeft, true}});
  std::size_t rows = 0, left = 0;
  const auto add = [&](const std::vector<OpChange>& ops, const char* what, std::size_t most) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const OpChange& op = ops[i];
      if (!everything && (i >= most || std::abs(op.change()) < least)) {
        left += ops.size() - i;
        return;
      }
      const char* label = what != nullptr ? what : op.change() > 0 ? "slower" : "faster";
      table.add_row({signed_ms(op.change()), format_ms(op.after), counts(op), label,
                     op.kind + " " + op.name});
      ++rows;
    }
  };
  add(comparison.ops, nullptr, kChangedShown);
  add(comparison.missing, "missing", kOneSidedShown);
  add(comparison.added, "new", kOneSidedShown);
  std::string out = rows > 0 ? table.print(terminal) : "";
  if (left > 0) out += fmt::format("{} more kinds of ops with --all\n", left);
  return out;
}

}  // namespace

std::string diff_text(const Comparison& comparison, std::optional<double> limit, bool everything,
                      const Terminal& terminal) {
  std::string out;
  for (const auto& [name, label, ranks] :
       {std::tuple{"before", &comparison.before_label, comparison.before_ranks},
        std::tuple{"after", &comparison.after_label, comparison.after_ranks}}) {
    out +=
        fmt::format("{:<7}{}{}\n", name, *label,
                    ranks > 0 ? fmt::format(" ({} {})", ranks, ranks == 1 ? "rank" : "ranks") : "");
  }
  out += step_line(comparison, terminal);
  out += cause_table(comparison, terminal);
  out += op_table(comparison, everything, terminal);
  if (!limit) return out;
  const bool failed = comparison.exceeds(*limit);
  std::string answer =
      fmt::format("{}: the limit is {:+.1f}%", failed ? "FAILED" : "passed", 100 * *limit);
  // The step got longer than allowed, but this may be chance.
  const bool unsure = !failed && comparison.change() > *limit;
  if (unsure) answer += ", and the change is within noise; record more steps to be sure";
  const Tone tone = failed ? Tone::kBad : unsure ? Tone::kWarning : Tone::kGood;
  return out + paint(terminal, tone, answer) + "\n";
}

}  // namespace weft::cli
