// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "cli/shell/format.h"
#include "weft/base/check.h"
#include "weft/base/utf8.h"

namespace weft::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;  ///< an elidable column keeps at least this width
constexpr std::size_t kNarrowestWrapped = 12;
constexpr const char* kLeftOut = "…";  ///< stands for columns that have no room
constexpr const char* kEscape = "\033[";

bool is_set(const char* value) { return value != nullptr && *value != '\0'; }

std::size_t next_character(std::string_view text) {
  return std::max<std::size_t>(1, utf8_length(text));
}

/// The first `count` characters.
std::string_view head(std::string_view text, std::size_t count) {
  std::size_t byte = 0;
  for (; count > 0 && byte < text.size(); --count) byte += next_character(text.substr(byte));
  return text.substr(0, byte);
}

/// All but the first `count` characters.
std::string_view without(std::string_view text, std::size_t count) {
  return text.substr(head(text, count).size());
}

}  // namespace

Terminal describe_terminal(bool is_terminal, int tty_columns,
                           const std::function<const char*(const char*)>& environment) {
  const char* term = environment("TERM");
  const bool dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
  Terminal terminal;
  terminal.is_terminal = is_terminal && !dumb;
  const char* force = environment("CLICOLOR_FORCE");
  if (is_set(environment("NO_COLOR"))) {
    terminal.colour = false;
  } else if (is_set(force) && std::strcmp(force, "0") != 0) {
    terminal.colour = true;
  } else {
    terminal.colour = terminal.is_terminal;
  }
  terminal.columns = is_terminal ? (tty_columns > 0 ? tty_columns : 80) : 0;
  if (const char* columns = environment("COLUMNS"); is_set(columns)) {
    int value = 0;
    const char* end = columns + std::strlen(columns);
    const auto [stop, error] = std::from_chars(columns, end, value);
    if (error == std::errc{} && stop == end && value > 0) terminal.columns = value;
  }
  return terminal;
}

Terminal detect_terminal(int descriptor) {
  winsize size{};
  const bool is_terminal = ::isatty(descriptor) == 1;
  if (is_terminal) ::ioctl(descriptor, TIOCGWINSZ, &size);
  return describe_terminal(is_terminal, size.ws_col, [](const char* name) {
    return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  });
}

std::string paint(const Terminal& terminal, Tone tone, std::string_view text) {
  const char* code = nullptr;
  switch (tone) {
    case Tone::kPlain:
      break;
    case Tone::kBold:
      code = "1";
      break;
    case Tone::kDim:
      code = "2";
      break;
    case Tone::kGood:
      code = "32";
      break;
    case Tone::kWarning:
      code = "33";
      break;
    case Tone::kBad:
      code = "31";
      break;
  }
  if (!terminal.colour || code == nullptr) return std::string(text);
  return kEscape + std::string(code) + "m" + std::string(text) + kEscape + "0m";
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t byte = 0; byte < text.size();) {
    if (text.substr(byte).starts_with(kEscape)) {
      byte = std::min(text.find('m', byte), text.size() - 1) + 1;
      continue;
    }
    byte += next_character(text.substr(byte));
    ++width;
  }
  return width;
}

std::string elide(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(head(text, width - 1)) + "…";
}

std::string elide_middle(std::string_view text, std::size_t width) {
  const std::size_t full = display_width(text);
  if (full <= width) return std::string(text);
  if (width < 3) return elide(text, width);
  const std::size_t front = (width - 1) / 2;
  const std::size_t back = width - 1 - front;
  return std::string(head(text, front)) + "…" + std::string(without(text, full - back));
}

void Table::add_row(std::vector<std::string> cells) {
  WEFT_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

/// The widths of the columns that are shown. If the table is too wide, first the last column wraps,
/// then elidable columns shrink. If this is not enough, the last columns are left out.
std::vector<std::size_t> Table::fitted_widths(const Terminal& terminal) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  if (terminal.columns <= 0) return widths;

  const auto limit = static_cast<std::size_t>(terminal.columns);
  std::size_t total = std::accumulate(widths.begin(), widths.end(), kGap * (columns_.size() - 1));
  if (columns_.back().wraps && total > limit) {
    const std::size_t rest = total - widths.back();
    widths.back() = std::max(kNarrowestWrapped, limit > rest ? limit - rest : 0);
    total = rest + widths.back();
  }
  // Shorten the widest elidable column by one character, again and again. So the columns that had
  // to shrink become about equally wide.
  while (total > limit) {
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!columns_[c].elidable || widths[c] <= kNarrowest) continue;
      if (widest == columns_.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
    --total;
  }
  while (total > limit && widths.size() > 2) {
    // When a column is left out for the first time, the mark "…" is added, which needs room, too.
    if (widths.size() == columns_.size()) total += kGap + display_width(kLeftOut);
    total -= kGap + widths.back();
    widths.pop_back();
  }
  return widths;
}

std::string Table::print(const Terminal& terminal) const {
  const std::vector<std::size_t> widths = fitted_widths(terminal);
  std::string out;
  const auto line = [&](const auto& cell, Tone tone) {
    std::string text;
    std::size_t indent = 0;
    std::vector<std::string> more;  // lines of a wrapped cell after its first
    for (std::size_t c = 0; c < widths.size(); ++c) {
      std::string shown = elide_middle(cell(c), widths[c]);
      if (columns_[c].wraps) {
        more = wrap(cell(c), widths[c], 0);
        shown = more.front();
        more.erase(more.begin());
      }
      const std::size_t used = display_width(shown);
      const std::string pad(widths[c] > used ? widths[c] - used : 0, ' ');
      if (c > 0) text.append(kGap, ' ');
      if (c + 1 < widths.size()) indent += widths[c] + kGap;
      text += columns_[c].align == Align::kRight ? pad + shown : shown + pad;
    }
    if (widths.size() < columns_.size()) text += std::string(kGap, ' ') + kLeftOut;
    text.erase(text.find_last_not_of(' ') + 1);
    out += paint(terminal, tone, text) + "\n";
    for (const std::string& rest : more) out += std::string(indent, ' ') + rest + "\n";
  };
  line([&](std::size_t c) -> std::string_view { return columns_[c].title; }, Tone::kBold);
  for (const auto& row : rows_) {
    line([&](std::size_t c) -> std::string_view { return row[c]; }, Tone::kPlain);
  }
  return out;
}

}  // namespace weft::cli
