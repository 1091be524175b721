// SPDX-License-Identifier: MIT
// Tables, emphasis and Markdown on a terminal.
#include "tools/descend/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "src/base/text.h"

namespace descend::tool {
namespace {

bool coloured() {
  static const bool on = [] {
    const char* terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) && std::getenv("NO_COLOR") == nullptr && terminal != nullptr &&
           std::string_view(terminal) != "dumb";
  }();
  return on;
}

std::string emphasised(const char* code, std::string_view text) {
  if (!coloured()) return std::string(text);
  return cat("\x1b[", code, "m", text, "\x1b[0m");
}

size_t columns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40) return size.ws_col;
  return 100000;
}

// What is seen: without escapes, and a character of several bytes is one.
size_t width(std::string_view text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
      continue;
    }
    n += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  }
  return n;
}

// Words in lines of at most `room`.
std::vector<std::string> wrapped(const std::string& text, size_t room) {
  std::vector<std::string> lines{""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && width(lines.back()) + 1 + width(word) > room) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream parts(line.substr(1));
  for (std::string cell; std::getline(parts, cell, '|');) {
    cell.erase(0, cell.find_first_not_of(' '));
    cells.push_back(cell.substr(0, cell.find_last_not_of(' ') + 1));
  }
  return cells;
}

// Links become their text, code loses its quotes, ** becomes emphasis.
std::string inline_marks(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
  text = std::regex_replace(text, std::regex(R"(`([^`]*)`)"), "$1");
  static const std::regex strong(R"(\*\*([^*]*)\*\*)");
  for (std::smatch found; std::regex_search(text, found, strong);)
    text = found.prefix().str() + bold(found[1].str()) + found.suffix().str();
  return text;
}

}  // namespace

std::string bold(std::string_view text) { return emphasised("1", text); }
std::string dim(std::string_view text) { return emphasised("2", text); }
std::string good(std::string_view text) { return emphasised("32", text); }
std::string bad(std::string_view text) { return emphasised("31", text); }

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t k = 0; k < row.size(); ++k) {
      if (k == widths.size()) widths.push_back(0);
      widths[k] = std::max(widths[k], width(row[k]));
    }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    size_t used = 0;
    std::string line;
    for (size_t k = 0; k + 1 < rows[r].size(); ++k) {
      const std::string cell = r == 0 ? bold(rows[r][k]) : rows[r][k];
      line += cell + std::string(widths[k] - width(rows[r][k]) + 2, ' ');
      used += widths[k] + 2;
    }
    const size_t room = columns() > used + 24 ? columns() - used - 1 : 24;
    const std::vector<std::string> last = rows[r].empty() ? std::vector<std::string>{} : wrapped(rows[r].back(), room);
    for (size_t i = 0; i < last.size(); ++i)
      line += cat(i > 0 ? cat("\n", std::string(used, ' ')) : "", r == 0 ? bold(last[i]) : last[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string rendered(const std::string& markdown) {
  std::istringstream lines(markdown);
  std::string text;
  std::vector<std::vector<std::string>> rows;
  bool code = false;
  const auto end_table = [&] {
    text += table(rows);
    rows.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (!code && line.starts_with("|")) {
      if (!line.starts_with("|--")) {
        rows.push_back(cells_of(line));
        for (std::string& cell : rows.back()) cell = inline_marks(cell);
      }
      continue;
    }
    if (!rows.empty()) end_table();
    if (line.starts_with("```")) {
      code = !code;
    } else if (code) {
      text += dim("    " + line) + "\n";
    } else if (line.starts_with("#")) {
      text += bold(line.substr(line.find_first_not_of("# "))) + "\n";
    } else if (!line.starts_with("<!--")) {
      text += inline_marks(line) + "\n";
    }
  }
  if (!rows.empty()) end_table();
  return text;
}

}  // namespace descend::tool
