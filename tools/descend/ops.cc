// SPDX-License-Identifier: MIT
// `descend ops` and `descend doc`: the operators' own tables and pages.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "src/check/findings.h"
#include "src/plan/catalog.h"
#include "tools/descend/command.h"
#include "tools/descend/terminal.h"

namespace descend::tool {
namespace {

bool supports(const SpecText& text, Product product) {
  return std::find(text.products.begin(), text.products.end(), product) != text.products.end();
}

// The dtypes of the operator that a product does not have: "BF16".  The rules of the parameters say so in words.
std::string lacks(const SpecText& text, Product product) {
  static const std::regex rule("is not (\\w+) on ([^;]*)");
  std::set<std::string> dtypes;
  for (const auto& p : text.parameters)
    for (std::sregex_iterator it(p.rules.begin(), p.rules.end(), rule), end; it != end; ++it)
      if ((*it)[2].str().find(name(product)) != std::string::npos) dtypes.insert((*it)[1].str());
  std::string list;
  for (const std::string& dtype : dtypes) list += (list.empty() ? "" : ", ") + dtype;
  return list;
}

Json as_json(const SpecText& text) {
  Json products = Json::object(), missing = Json::object(), parameters = Json::array();
  for (Product product : all_products()) {
    products[std::string(name(product))] = supports(text, product);
    if (const std::string dtypes = lacks(text, product); supports(text, product) && !dtypes.empty())
      missing[std::string(name(product))] = dtypes;
  }
  for (const auto& p : text.parameters)
    parameters.push_back({{"name", p.name}, {"direction", p.direction}, {"meaning", p.meaning}, {"rules", p.rules}});
  return {
      {"function", text.function},          {"summary", text.summary}, {"dtypes", text.dtypes}, {"products", products},
      {"products_without_dtypes", missing}, {"parameters", parameters}};
}

// "Ascend910B" of "Atlas A2 (Ascend910B)".
std::string soc_of(Product product) {
  const std::string text(name(product));
  const size_t open = text.find('(') + 1;
  return text.substr(open, text.find(')') - open);
}

// The product of that name alone, or all.
std::vector<Product> products_of(const std::string& soc) {
  const auto all = all_products();
  if (soc.empty()) return {all.begin(), all.end()};
  if (const std::optional<Product> one = product_of(soc)) return {*one};
  throw std::runtime_error("no product has the name " + soc);
}

void print_operators(const std::string& soc, bool json) {
  const std::vector<Product> products = products_of(soc);
  Json document = Json::array();
  std::vector<std::vector<std::string>> rows{{"operator", "dtypes"}};
  for (Product product : products) rows[0].push_back(soc_of(product));
  for (const OperatorEntry& entry : catalog()) {
    if (!soc.empty() && !supports(entry.text, products[0])) continue;
    document.push_back(as_json(entry.text));
    rows.push_back({entry.text.function, entry.text.dtypes});
    for (Product product : products) {
      const std::string without = lacks(entry.text, product);
      rows.back().push_back(!supports(entry.text, product) ? "-" : without.empty() ? "yes" : "no " + without);
    }
  }
  if (json) return print(document);
  std::cout << table(rows) << "\n"
            << dim("yes: with all these dtypes; no BF16: without that one; -: not at all") << "\n";
}

std::string read(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// Where the installed pages are, as in the repository.
std::filesystem::path pages() { return prefix() / "share" / "doc" / "descend"; }

// The page that has the operator's table between its marks.
std::string page_of(const std::string& function) {
  std::error_code none;
  for (const auto& folder : std::filesystem::directory_iterator(pages() / "ops", none)) {
    const std::string text = read(folder.path() / "README.md");
    if (text.find("<!-- table:" + function + " -->") != std::string::npos) return text;
  }
  return "";
}

// A name as people type it: letters and digits alone, all small, without what all names begin with.
std::string essence(std::string_view name) {
  std::string text;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c))) text += static_cast<char>(std::tolower(c));
  for (std::string_view begin : {"aclnn", "dsc"})
    if (text.starts_with(begin)) text.erase(0, begin.size());
  return text;
}

// The section of the checker's guide on a finding, such as DSC-102.
void print_finding(Command& command, const std::string& id) {
  const std::string guide = read(pages() / "docs" / "checker.md");
  const size_t begin = guide.find("\n### " + id + "\n");
  if (begin == std::string::npos) return fail(command, "this installation has no guide to the checker");
  const std::string section = guide.substr(begin + 1, guide.find("\n### ", begin + 1) - begin);
  if (command.json) return print(Json{{"id", id}, {"page", section}});
  std::cout << rendered(section);
}

void print_operator(Command& command, const SpecText& text) {
  const std::string page = page_of(text.function);
  if (command.json) {
    Json document = as_json(text);
    document["page"] = page;
    return print(document);
  }
  // Without its page an installation still has the operator's tables.
  std::cout << rendered(page.empty() ? "# " + text.function + "\n\n" + text.summary + "\n\n" + text.markdown() : page);
}

void print_page(Command& command, const std::string& name) {
  const std::string wanted = essence(name);
  std::string alike;
  const auto is = [&](const std::string& each) {
    if (essence(each) == wanted) return true;
    if (!wanted.empty() && essence(each).find(wanted) != std::string::npos) alike += (alike.empty() ? "" : ", ") + each;
    return false;
  };
  for (const OperatorEntry& entry : catalog())
    if (is(entry.text.function)) return print_operator(command, entry.text);
  for (const FindingText& each : kFindings)
    if (const std::string id = id_of(each.finding); is(id)) return print_finding(command, id);
  fail(command, "no operator and no finding is called " + name +
                    (alike.empty() ? "; `descend ops` lists the operators" : "; is it one of these: " + alike + "?"));
}

}  // namespace

void add_ops(Command& command) {
  CLI::App* ops = command.app.add_subcommand("ops", "List the operators, their dtypes and the products that have them");
  const auto soc = std::make_shared<std::string>();
  ops->add_option("--soc", *soc, "Only what this product has")->type_name("SOC");
  ops->footer("Examples:\n  descend ops\n  descend ops --soc Ascend310P3\n  descend ops --json");
  ops->callback([&command, soc] { print_operators(*soc, command.json); });
}

void add_doc(Command& command) {
  CLI::App* doc = command.app.add_subcommand("doc", "Show an operator's page, or a finding's");
  const auto name = std::make_shared<std::string>();
  doc->add_option("function", *name, "The operator, such as aclnnElu or elu, or the finding, such as DSC-102 or 102")
      ->required()
      ->type_name("FUNCTION");
  doc->footer(
      "Examples:\n  descend doc aclnnEluBackward | less -R\n  descend doc aclnnElu --json\n  descend doc DSC-102");
  doc->callback([&command, name] { print_page(command, *name); });
}

}  // namespace descend::tool
