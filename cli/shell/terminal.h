// SPDX-License-Identifier: Apache-2.0
// Describes what the terminal behind stdout or stderr can show. Makes text that fits this terminal:
// colours and tables.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

struct Terminal {
  bool is_terminal = false;
  bool colour = false;
  int columns = 0;  ///< the width that text must fit into; 0: no limit
};

struct Variable {
  const char* name;
  const char* meaning;
};

/// The environment variables that describe_terminal() reads. The man page prints these texts.
inline constexpr Variable kVariables[] = {
    {"NO_COLOR", "if not empty, Weft prints no colours"},
    {"CLICOLOR_FORCE", "if neither empty nor 0, Weft prints colours even into a pipe"},
    {"COLUMNS", "the width that pages fit into, instead of the width of the terminal"},
    {"TERM", "if it is dumb, Weft prints neither colours nor a progress line"},
};

/// Decides from environment variables and from the arguments what the terminal can show. NO_COLOR
/// has precedence over CLICOLOR_FORCE, which has precedence over `is_terminal`. With TERM=dumb
/// there are no escape codes. COLUMNS has precedence over `tty_columns` (0 if unknown). The
/// function reads nothing else, so tests can call it.
Terminal describe_terminal(bool is_terminal, int tty_columns,
                           const std::function<const char*(const char*)>& environment);
/// Like describe_terminal(), but for a file descriptor of this process.
Terminal detect_terminal(int descriptor);

enum class Tone { kPlain, kBold, kDim, kGood, kWarning, kBad };

/// `text` in a colour; unchanged if the terminal shows no colours.
std::string paint(const Terminal& terminal, Tone tone, std::string_view text);

/// The number of characters, not bytes. Each malformed byte counts as one character; the escape
/// codes of paint() do not count.
std::size_t display_width(std::string_view text);
/// Cuts text to at most `width` characters, with "…" at the end if something was cut.
std::string elide(std::string_view text, std::size_t width);
/// Like elide(), but cuts in the middle, because file names often differ at the beginning or at the
/// end.
std::string elide_middle(std::string_view text, std::size_t width);

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
  bool elidable = false;  ///< may be shortened (in the middle) to fit the terminal
  bool wraps = false;     ///< only the last column: its text continues on further lines
};

/// A table with a title per column. Columns are as wide as their widest cell. Cells are plain text.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row with one cell per column.
  void add_row(std::vector<std::string> cells);
  /// The lines of the table, each with '\n'. If they would be wider than the terminal, elidable
  /// columns shrink and the last column wraps. If that is not enough, the last columns are left out
  /// and "…" stands for them.
  std::string print(const Terminal& terminal) const;

 private:
  std::vector<std::size_t> fitted_widths(const Terminal& terminal) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::cli
