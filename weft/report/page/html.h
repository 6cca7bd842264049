// SPDX-License-Identifier: Apache-2.0
// Renders a page as one HTML file that contains its style sheet, script and data and loads nothing
// from a network.
#pragma once

#include <string>
#include <string_view>

namespace weft::report {

/// Selects the script of the page; web/README.md lists the entry points.
enum class PageKind { kJob, kLinks, kPlan };

struct PageData {
  std::string title;     ///< plain text
  std::string timeline;  ///< result of pack_timeline(); empty on pages without a timeline
  std::string json;      ///< one JSON value: everything on the page except the timeline
  PageKind kind = PageKind::kJob;
};

/// Escapes plain text for HTML content and for attributes in double quotes.
std::string escape_html(std::string_view text);

std::string render_page(const PageData& data);

}  // namespace weft::report
