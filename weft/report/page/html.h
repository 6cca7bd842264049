// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file: style, script and data inside, nothing asked from a network.
#pragma once

#include <string>
#include <string_view>

namespace weft::report {

enum class PageKind { kJob, kLinks, kPlan };

struct PageData {
  std::string title;     ///< plain text
  std::string timeline;  ///< pack_timeline()
  std::string json;      ///< one JSON value: everything on the page but the timeline
  PageKind kind = PageKind::kJob;
};

/// Plain text as it may stand in HTML, attributes in double quotes included.
std::string escape_html(std::string_view text);

std::string render_page(const PageData& data);

}  // namespace weft::report
