// SPDX-License-Identifier: Apache-2.0
// Makes the summary of a report for notebooks. All styles are inline, because rules of a style
// element would also apply to the rest of the notebook. Each part of a bar is a span element with a
// width in per cent of the longest step, so that the bars need no script.
#include "weft/report/page/small_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/base/check.h"
#include "weft/base/milliseconds.h"
#include "weft/report/page/html.h"
#include "weft/report/page/web_assets.h"

namespace weft::report {
namespace {

using diagnose::Cause;

constexpr std::size_t kMostRanks = 8;
constexpr std::size_t kMostFindings = 3;

double percent(Nanos part, Nanos whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// The colour of a cause, read from the style sheet of the page. Colours are defined only in this
/// style sheet, so that the summary and the page always have the same colours. The summary does not
/// contain the style sheet, so it cannot use the variables of the style sheet.
std::string_view colour_of(Cause cause) {
  std::string name = std::string("--weft-") + diagnose::cause_name(cause) + ":";
  std::replace(name.begin(), name.end(), '_', '-');
  const std::size_t at = page_css().find(name);
  WEFT_CHECK(at != std::string_view::npos);
  const std::size_t begin = page_css().find('#', at);
  return page_css().substr(begin, page_css().find_first_of(";}", begin) - begin);
}

/// The name of a cause for readers, for example "memory copy" for kMemoryCopy.
std::string label_of(Cause cause) {
  std::string name = diagnose::cause_name(cause);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// One table row with the name, the bar and the step of a rank. The font size of the bar is 0, so
/// that the bar is as high as its parts.
std::string bar(const diagnose::RankDiagnosis& rank, Nanos longest) {
  std::string parts;
  for (std::size_t c = 0; c < diagnose::kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    const Nanos time = rank.causes.mean[cause];
    if (time <= 0) continue;
    parts += fmt::format(
        "<span title=\"{}: {:.1f} ms\" style=\"display:inline-block;height:14px;width:{:.2f}%;"
        "background:{}\"></span>",
        label_of(cause), milliseconds(time), percent(time, longest), colour_of(cause));
  }
  return fmt::format(
      "<tr><td>rank {}</td><td style=\"width:420px;font-size:0;white-space:nowrap;"
      "text-align:left\">{}</td><td>{:.1f} ms</td></tr>",
      rank.rank, parts, milliseconds(rank.step));
}

std::string bars(const diagnose::Diagnosis& diagnosis) {
  std::vector<const diagnose::RankDiagnosis*> ranks;
  for (const diagnose::RankDiagnosis& rank : diagnosis.ranks) ranks.push_back(&rank);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const auto* a, const auto* b) { return a->step > b->step; });
  const std::size_t hidden = ranks.size() - std::min(ranks.size(), kMostRanks);
  ranks.resize(ranks.size() - hidden);
  // If some ranks are left out, the slowest ranks are shown, in descending order of their step.
  // Otherwise the ranks are shown in order of their numbers.
  if (hidden == 0) {
    std::sort(ranks.begin(), ranks.end(),
              [](const auto* a, const auto* b) { return a->rank < b->rank; });
  }
  std::string rows;
  for (const auto* rank : ranks) rows += bar(*rank, diagnosis.step);
  if (hidden > 0) rows += fmt::format("<tr><td></td><td>{} faster ranks</td></tr>", hidden);
  return "<table>" + rows + "</table>";
}

std::string legend(const diagnose::Diagnosis& diagnosis) {
  std::string items;
  for (std::size_t c = 0; c < diagnose::kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    // The legend lists only causes that occur, because a notebook has little room.
    const bool occurs = std::any_of(
        diagnosis.ranks.begin(), diagnosis.ranks.end(),
        [&](const diagnose::RankDiagnosis& rank) { return rank.causes.mean[cause] > 0; });
    if (!occurs) continue;
    items += fmt::format(
        "<span style=\"display:inline-block;width:10px;height:10px;background:{}\"></span> {} "
        "&nbsp; ",
        colour_of(cause), label_of(cause));
  }
  return "<div style=\"font-size:12px\">" + items + "</div>";
}

std::string findings(const diagnose::Diagnosis& diagnosis) {
  std::string items;
  for (std::size_t i = 0; i < std::min(diagnosis.findings.size(), kMostFindings); ++i) {
    const diagnose::Finding& finding = diagnosis.findings[i];
    items += fmt::format("<li><b>-{:.1f} ms</b> {}</li>", milliseconds(finding.gain),
                         escape_html(finding.what));
  }
  return items.empty() ? "" : "<ol>" + items + "</ol>";
}

}  // namespace

std::string small_page(const diagnose::Diagnosis& diagnosis) {
  return fmt::format("<div><b>{}</b>: {}{}{}{}</div>", escape_html(diagnosis.label),
                     escape_html(diagnosis.verdict), bars(diagnosis), legend(diagnosis),
                     findings(diagnosis));
}

}  // namespace weft::report
