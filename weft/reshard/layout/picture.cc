// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/picture.h"

#include <array>
#include <cstdio>
#include <map>

namespace weft::reshard {
namespace {

constexpr double kSide = 320, kGap = 40, kTop = 30;  // sizes of a panel, in SVG units
constexpr std::size_t kMostNames = 6;

std::string format(const char* pattern, auto... values) {
  std::array<char, 512> buffer{};
  std::snprintf(buffer.data(), buffer.size(), pattern, values...);
  return buffer.data();
}

/// The (at most two) dimensions that are cut into most pieces, in the order of the array.
std::vector<std::size_t> shown_dims(const Problem& problem) {
  std::vector<std::size_t> dims;
  for (std::size_t dim = 0; dim < problem.shape.size(); ++dim) dims.push_back(dim);
  const auto parts = [&](std::size_t dim) {
    return problem.source.cuts[dim]->slots.size() + problem.target.cuts[dim]->slots.size();
  };
  std::stable_sort(dims.begin(), dims.end(),
                   [&](std::size_t a, std::size_t b) { return parts(a) > parts(b); });
  if (dims.size() > 2) dims.resize(2);
  std::sort(dims.begin(), dims.end());
  return dims;
}

struct Piece {
  Interval rows, columns;
  bool operator<(const Piece& other) const {
    const auto key = [](const Piece& piece) {
      return std::array{piece.rows.low, piece.rows.high, piece.columns.low, piece.columns.high};
    };
    return key(*this) < key(other);
  }
};

/// The rectangles that parts cover in the two shown dimensions, with the devices of those parts.
std::map<Piece, std::vector<Device>> pieces(const Layout& layout,
                                            const std::vector<std::size_t>& dims) {
  std::map<Piece, std::vector<Device>> found;
  const Strips one{{0, 1}};
  for (Part part = 0; part < layout.parts(); ++part) {
    if (!layout.holds(part)) continue;
    const Strips& rows = dims.size() == 2 ? layout.cuts[dims[0]]->piece(part) : one;
    const Strips& columns = dims.empty() ? one : layout.cuts[dims.back()]->piece(part);
    for (const Interval& row : rows) {
      for (const Interval& column : columns) {
        found[{row, column}].push_back(layout.device_of(part));
      }
    }
  }
  return found;
}

std::string names(const Problem& problem, const std::vector<Device>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size() && i < kMostNames; ++i) {
    text += (i > 0 ? " " : "") + std::to_string(problem.devices[devices[i]]);
  }
  return devices.size() > kMostNames ? text + " ..." : text;
}

std::string panel(const Problem& problem, const Layout& layout, double left, const char* title) {
  const std::vector<std::size_t> dims = shown_dims(problem);
  const auto size = [&](std::size_t dim) {
    return static_cast<double>(std::max<std::int64_t>(1, problem.shape[dim]));
  };
  const double height = dims.size() == 2 ? size(dims[0]) : 1;
  const double width = dims.empty() ? 1 : size(dims.back());
  std::string svg =
      format("<text x=\"%.0f\" y=\"20\" font-weight=\"bold\">%s</text>\n", left, title);
  for (const auto& [piece, devices] : pieces(layout, dims)) {
    const double x = left + kSide * static_cast<double>(piece.columns.low) / width;
    const double y = kTop + kSide * static_cast<double>(piece.rows.low) / height;
    const double wide = kSide * static_cast<double>(piece.columns.length()) / width;
    const double high = kSide * static_cast<double>(piece.rows.length()) / height;
    // 47 and 360 have no common factor, so neighbouring devices get different colours.
    const int hue = static_cast<int>(devices.front()) * 47 % 360;
    svg += format(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"hsl(%d,60%%,80%%)\" "
        "stroke=\"#333\"/>\n",
        x, y, wide, high, hue);
    svg += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x + wide / 2,
                  y + high / 2 + 4);
    svg += names(problem, devices) + "</text>\n";
  }
  return svg;
}

}  // namespace

std::string picture(const Problem& problem) {
  const double width = 3 * kGap + 2 * kSide, height = kTop + kSide + kGap;
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n",
             width, height) +
         panel(problem, problem.source, kGap, "before") +
         panel(problem, problem.target, 2 * kGap + kSide, "after") + "</svg>\n";
}

}  // namespace weft::reshard
