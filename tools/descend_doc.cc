// SPDX-License-Identifier: MIT
// The generated parts of the documentation.
//   descend_doc aclnnX        the tables of an operator's page
//   descend_doc --operators   the list of all operators, for the first page
//   descend_doc --write       writes both between their marks, in the source tree this was built from
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "src/base/text.h"
#include "src/plan/catalog.h"

namespace {

namespace fs = std::filesystem;
using descend::cat;

const fs::path kSource = DESCEND_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found{kSource / "README.md"};
  for (const auto& folder : fs::directory_iterator(kSource / "ops"))
    if (fs::exists(folder.path() / "README.md")) found.push_back(folder.path() / "README.md");
  return found;
}

std::string begin_mark(const std::string& name) { return cat("<!-- table:", name, " -->\n"); }
std::string end_mark(const std::string& name) { return cat("<!-- end:", name, " -->"); }

// The page that has the operator's table, seen from the first page.
std::string page_of(const std::string& function) {
  for (const fs::path& page : pages())
    if (read(page).find(begin_mark(function)) != std::string::npos) return fs::relative(page, kSource).string();
  return "";
}

std::string list_of_operators() {
  std::string s = "| operator | what it computes | dtypes | products |\n|---|---|---|---|\n";
  for (const auto& op : descend::catalog()) {
    std::string products;
    for (descend::Product product : op.text.products) products += cat(products.empty() ? "" : ", ", name(product));
    s += cat("| [", op.text.function, "](", page_of(op.text.function), ") | ", op.text.summary, " | ", op.text.dtypes,
             " | ", products, " |\n");
  }
  return s;
}

// Puts the table between its marks; a page without them stays as it is.
void insert(std::string& page, const std::string& name, const std::string& table) {
  const size_t begin = page.find(begin_mark(name)), end = page.find(end_mark(name));
  if (begin == std::string::npos || end == std::string::npos) return;
  const size_t from = begin + begin_mark(name).size();
  page.replace(from, end - from, table);
}

int write_all() {
  for (const fs::path& file : pages()) {
    std::string page = read(file);
    const std::string before = page;
    insert(page, "operators", list_of_operators());
    for (const auto& op : descend::catalog()) insert(page, op.text.function, op.text.markdown());
    if (page == before) continue;
    std::ofstream(file) << page;
    std::cout << "wrote " << file.string() << "\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "--write") return write_all();
  if (what == "--operators") {
    std::cout << list_of_operators();
    return 0;
  }
  if (const auto* op = descend::find_operator(what)) {
    std::cout << op->text.markdown();
    return 0;
  }
  std::cerr << "descend_doc: expected --write, --operators or the name of an operator, not '" << what << "'\n";
  return 2;
}
