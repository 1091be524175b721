// SPDX-License-Identifier: MIT
// Text for people: tables, and emphasis where a terminal shows it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace descend::tool {

// Emphasised on a terminal (unless NO_COLOR is set), plain elsewhere.
std::string bold(std::string_view text);
std::string dim(std::string_view text);
std::string good(std::string_view text);
std::string bad(std::string_view text);

// Columns as wide as their widest cell, the first row emphasised.  A last column that does not fit the terminal goes on
// in further lines.
std::string table(const std::vector<std::vector<std::string>>& rows);

// A page of Markdown as a terminal shows it: headings emphasised, tables aligned, marks left out.
std::string rendered(const std::string& markdown);

}  // namespace descend::tool
