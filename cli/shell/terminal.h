// SPDX-License-Identifier: Apache-2.0
// What the other end of stdout or stderr can show, and text made for it: colours and tables.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

struct Terminal {
  bool is_terminal = false;
  bool colour = false;
  int columns = 0;  ///< width to fit into; 0: as wide as the text is
};

struct Variable {
  const char* name;
  const char* meaning;
};

/// What of the environment is honoured, as the man page tells it.
inline constexpr Variable kVariables[] = {
    {"NO_COLOR", "if not empty, no colours"},
    {"CLICOLOR_FORCE", "if neither empty nor 0, colours in a pipe as well"},
    {"COLUMNS", "the width to fit into, instead of that of the terminal"},
    {"TERM", "dumb: neither colours nor a progress line"},
};

/// The rules, without the machine: NO_COLOR beats CLICOLOR_FORCE beats being a terminal; TERM=dumb
/// takes no escape codes; COLUMNS beats what the terminal says (`tty_columns`, 0 if unknown).
Terminal describe_terminal(bool is_terminal, int tty_columns,
                           const std::function<const char*(const char*)>& environment);
/// The same for a file descriptor of this process.
Terminal detect_terminal(int descriptor);

enum class Tone { kPlain, kBold, kDim, kGood, kWarning, kBad };

/// `text` in a colour, or as it is where the terminal takes none.
std::string paint(const Terminal& terminal, Tone tone, std::string_view text);

/// Characters, not bytes. Malformed bytes count one each, the codes of paint() nothing.
std::size_t display_width(std::string_view text);
/// At most `width` characters; what is cut is replaced by one "…" at the end.
std::string elide(std::string_view text, std::size_t width);
/// At most `width` characters; cut in the middle, since file names differ at their ends.
std::string elide_middle(std::string_view text, std::size_t width);

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
  bool elidable = false;  ///< may be shortened (in the middle) to fit the terminal
  bool wraps = false;     ///< the last column only: goes on in further lines to fit the terminal
};

/// Rows under titles, columns as wide as their widest cell. Cells are plain text.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell a column.
  void add_row(std::vector<std::string> cells);
  /// Lines that end in '\n'. Where they would be wider than the terminal, columns shrink or wrap as
  /// declared; if that is not enough, the last ones are left out, and "…" tells so.
  std::string print(const Terminal& terminal) const;

 private:
  std::vector<std::size_t> fitted_widths(const Terminal& terminal) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::cli
