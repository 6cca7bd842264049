// SPDX-License-Identifier: Apache-2.0
// For tests: golden cases. A case is a text file in tests/cases/. It holds an input and the output
// that is expected for this input. tests/cases/README.md shows the format, and how to add cases and
// kinds of cases.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/result.h"

namespace weft::golden {

struct Section {
  std::string name;
  std::string text;  ///< whole lines
};

struct Case {
  std::string comment;            ///< the text before the first section
  std::vector<Section> sections;  ///< the last one holds the expected output, the others the input

  /// The text of an input section; empty if the case does not have it.
  std::string input(std::string_view name) const {
    for (std::size_t i = 0; i + 1 < sections.size(); ++i) {
      if (sections[i].name == name) return sections[i].text;
    }
    return {};
  }
};

/// Splits a case into its sections. A section begins with a line "== NAME ==". Returns an Error
/// (kBadInput) if there are fewer than two sections.
inline Result<Case> parse(const std::string& text, const std::string& path) {
  Case parsed;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    if (line.starts_with("== ") && line.ends_with(" ==\n")) {
      parsed.sections.push_back({line.substr(3, line.size() - 7), ""});
    } else {
      (parsed.sections.empty() ? parsed.comment : parsed.sections.back().text) += line;
    }
  }
  if (parsed.sections.size() < 2) {
    return fail(ErrorCode::kBadInput, "a case needs an input section and an output section", path);
  }
  return parsed;
}

inline std::string print(const Case& golden) {
  std::string text = golden.comment;
  for (const Section& section : golden.sections) {
    text += "== " + section.name + " ==\n" + section.text;
  }
  return text;
}

/// The fields of an input section whose lines have the form "NAME VALUE". The map has no entry for
/// a field that the section does not give. A name that is not in `names` is an Error (kBadInput).
/// Otherwise a misspelt field would silently keep its default.
inline Result<std::map<std::string, std::string>> fields(
    const std::string& section, std::initializer_list<std::string_view> names) {
  std::map<std::string, std::string> found;
  for (std::size_t at = 0; at < section.size();) {
    const std::size_t end = std::min(section.find('\n', at), section.size());
    const std::string line = section.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, blank);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return fail(ErrorCode::kBadInput, "a case has no field '" + name + "'");
    }
    found[name] = line.substr(std::min(blank + 1, line.size()));
  }
  return found;
}

/// Paths of all cases (*.case and *.txt) in a folder, sorted.
inline std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".case" || extension == ".txt") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Computes the output for the case in file `path` and compares it with the expected output. If
/// they differ, the Error shows the two outputs. If the environment variable WEFT_UPDATE_CASES is
/// set, there is no Error: the computed output then replaces the expected output in the file.
inline Status check(const std::string& path,
                    const std::function<Result<std::string>(const Case&)>& compute) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  WEFT_ASSIGN(Case golden, parse(text, path));
  WEFT_ASSIGN(std::string output, compute(golden));
  if (!output.ends_with('\n')) output += '\n';
  std::string& expected = golden.sections.back().text;
  if (output == expected) return {};
  if (std::getenv("WEFT_UPDATE_CASES") != nullptr) {
    expected = std::move(output);
    return write_file(path, print(golden));
  }
  return fail(ErrorCode::kBadInput,
              "the output has changed; tests/cases/update.sh accepts it\nexpected:\n" + expected +
                  "actual:\n" + output,
              path);
}

}  // namespace weft::golden
