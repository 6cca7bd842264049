// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file: style, script and data inside, nothing asked from a network.
#pragma once

#include <string>

namespace weft::report {

struct PageData {
  std::string title;     ///< plain text
  std::string timeline;  ///< pack_timeline()
  std::string json;      ///< one JSON value: everything on the page but the timeline
};

std::string render_page(const PageData& data);

}  // namespace weft::report
