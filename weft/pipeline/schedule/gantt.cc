// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/gantt.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace weft::pipeline {
namespace {

constexpr double kWidth = 1200, kLeft = 70, kRow = 24, kGap = 4, kTitle = 28, kMargin = 12;
constexpr double kLetter = 7;  ///< approximate width of a digit

std::string format(const char* pattern, auto... values) {
  std::array<char, 512> buffer{};
  std::snprintf(buffer.data(), buffer.size(), pattern, values...);
  return buffer.data();
}

/// Light colours for forwards and weights, dark ones for the gradients that other devices wait for,
/// so that a print without colours can be read.
const char* colour(Kind kind) {
  switch (kind) {
    case Kind::kForward:
      return "#9ecae9";
    case Kind::kInput:
      return "#f2a35e";
    case Kind::kWeight:
      return "#a7d89a";
    case Kind::kBackward:
      break;
  }
  return "#e07b6a";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

/// The longest makespan, which sets the time scale; at least 1 to divide by.
Nanos longest(std::span<const Drawn> drawn) {
  Nanos most = 1;
  for (const Drawn& one : drawn) most = std::max(most, one.timeline->makespan);
  return most;
}

std::string time_of(const Drawn& one, Nanos time) {
  return one.in_nanos ? format("%.3f ms", static_cast<double>(time) * 1e-6)
                      : print_time(*one.pipeline, time);
}

std::string title_of(const Drawn& one) {
  return one.title + ": " + time_of(one, one.timeline->makespan) +
         format(", idle %.1f %%", 100 * idle_share(*one.timeline));
}

std::string row_name(const Drawn& one, std::size_t device) {
  return one.rows.empty() ? std::to_string(device) : one.rows[device];
}

/// The longest row name of all schedules, so that all time axes start in the same column.
std::size_t longest_name(std::span<const Drawn> drawn) {
  std::size_t most = 1;
  for (const Drawn& one : drawn) {
    for (std::size_t device = 0; device < one.schedule->orders.size(); ++device) {
      most = std::max(most, row_name(one, device).size());
    }
  }
  return most;
}

std::string row_svg(const Drawn& one, std::size_t device, double top, double left, double scale) {
  const double end = scale * static_cast<double>(one.timeline->makespan);
  // One shaded bar for the whole step, with the ops drawn over it: what remains visible is idle
  // time.
  std::string svg = format(
      "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">device %s</text>\n"
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" fill=\"url(#idle)\"/>\n",
      left - 6, top + kRow / 2 + 4, escaped(row_name(one, device)).c_str(), left, top, end, kRow);
  const auto& order = one.schedule->orders[device];
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Span& span = one.timeline->ops[device][i];
    const double x = left + scale * static_cast<double>(span.start);
    const double wide = scale * static_cast<double>(span.end - span.start);
    svg += format(
        "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\" stroke=\"#fff\" "
        "stroke-width=\"0.5\"><title>%s %s..%s</title></rect>\n",
        x, top, wide, kRow, colour(order[i].kind), print(order[i]).c_str(),
        time_of(one, span.start).c_str(), time_of(one, span.end).c_str());
    const std::string number = std::to_string(order[i].micro);
    if (wide > kLetter * static_cast<double>(number.size()) + 2) {
      svg += format("<text x=\"%.2f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x + wide / 2,
                    top + kRow / 2 + 4, number.c_str());
    }
  }
  return svg;
}

std::string legend(double top, double left) {
  struct Entry {
    Kind kind;
    const char* name;
  };
  constexpr Entry kEntries[] = {{Kind::kForward, "F forward"},
                                {Kind::kInput, "I gradient of input"},
                                {Kind::kWeight, "W gradient of weights"},
                                {Kind::kBackward, "B both gradients"}};
  std::string svg;
  double x = left;
  for (const Entry& entry : kEntries) {
    svg += format(
        "<rect x=\"%.0f\" y=\"%.1f\" width=\"14\" height=\"14\" fill=\"%s\"/>"
        "<text x=\"%.0f\" y=\"%.1f\">%s</text>\n",
        x, top, colour(entry.kind), x + 18, top + 12, entry.name);
    x += 170;
  }
  return svg + format(
                   "<rect x=\"%.0f\" y=\"%.1f\" width=\"14\" height=\"14\" fill=\"url(#idle)\"/>"
                   "<text x=\"%.0f\" y=\"%.1f\">idle</text>\n",
                   x, top, x + 18, top + 12);
}

/// One character: what the device does for most of [from, to), or a shade if it is mostly idle.
/// `first` is the first op that may still matter; it only grows from cell to cell.
std::string cell(const std::vector<Op>& order, const std::vector<Span>& spans, std::size_t& first,
                 Nanos from, Nanos to, Nanos makespan) {
  while (first < spans.size() && spans[first].end <= from) ++first;
  std::array<Nanos, 4> busy{};
  for (std::size_t i = first; i < spans.size() && spans[i].start < to; ++i) {
    busy[static_cast<std::size_t>(order[i].kind)] +=
        std::min(to, spans[i].end) - std::max(from, spans[i].start);
  }
  // The kind of op that takes most of the cell wins. Idle time wins only if it is longer than the
  // time of this kind.
  const auto most = std::max_element(busy.begin(), busy.end());
  const Nanos idle = std::min(to, makespan) - from - (busy[0] + busy[1] + busy[2] + busy[3]);
  if (from >= makespan) return " ";
  if (*most == 0 || idle > *most) return "░";
  return std::string(1, letter(static_cast<Kind>(most - busy.begin())));
}

}  // namespace

double idle_share(const Timeline& timeline) {
  if (timeline.makespan == 0 || timeline.ops.empty()) return 0;
  Nanos busy = 0;
  for (const auto& spans : timeline.ops) {
    for (const Span& span : spans) busy += span.end - span.start;
  }
  const double all =
      static_cast<double>(timeline.makespan) * static_cast<double>(timeline.ops.size());
  return 1 - static_cast<double>(busy) / all;
}

std::string gantt_svg(std::span<const Drawn> drawn) {
  const double left = kLeft + kLetter * static_cast<double>(longest_name(drawn) - 1);
  const double scale = (kWidth - left - kMargin) / static_cast<double>(longest(drawn));
  std::string body;
  double top = kMargin;
  for (const Drawn& one : drawn) {
    body += format("<text x=\"%.0f\" y=\"%.1f\" font-weight=\"bold\">", left, top + 14);
    body += escaped(title_of(one)) + "</text>\n";
    top += kTitle;
    for (std::size_t device = 0; device < one.schedule->orders.size(); ++device) {
      body += row_svg(one, device, top, left, scale);
      top += kRow + kGap;
    }
    top += kMargin;
  }
  body += legend(top, left);
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n",
             kWidth, top + 14 + kMargin) +
         "<defs><pattern id=\"idle\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
         "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#eee\"/>"
         "<rect width=\"2\" height=\"6\" fill=\"#ccc\"/></pattern></defs>\n" +
         body + "</svg>\n";
}

std::string gantt_text(std::span<const Drawn> drawn, std::size_t columns) {
  const Nanos most = longest(drawn);
  std::string text;
  for (const Drawn& one : drawn) {
    text += title_of(one) + "\n";
    const std::size_t devices = one.schedule->orders.size();
    const std::size_t label = longest_name(drawn) + 2;
    const std::size_t width = std::max<std::size_t>(10, columns - std::min(columns, label));
    for (std::size_t device = 0; device < devices; ++device) {
      const std::string name = row_name(one, device);
      text += std::string(label - 2 - name.size(), ' ') + name + "  ";
      std::size_t first = 0;
      std::string line;
      for (std::size_t i = 0; i < width; ++i) {
        const auto edge = [&](std::size_t at) {
          return static_cast<Nanos>(static_cast<double>(most) * static_cast<double>(at) /
                                    static_cast<double>(width));
        };
        line += cell(one.schedule->orders[device], one.timeline->ops[device], first, edge(i),
                     std::max(edge(i) + 1, edge(i + 1)), one.timeline->makespan);
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  return text;
}

}  // namespace weft::pipeline
