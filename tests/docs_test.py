# SPDX-License-Identifier: MIT
"""The documentation is true: variables, links, commands, generated tables, and the program on the first page."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DESCEND_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
BUILD = pathlib.Path(os.environ.get("DESCEND_BUILD", SOURCE / "build/release"))
PREFIX = pathlib.Path(os.environ.get("DESCEND_PREFIX", SOURCE / "build/prefix"))
SKIPPED_FOLDERS = {"build", ".git", ".cache"}


def pages(root=SOURCE):
    for page in sorted(root.rglob("*.md")):
        if not SKIPPED_FOLDERS & set(page.relative_to(root).parts):
            yield page


def anchor(heading):
    """The anchor that a heading gets: lower case, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def without_code(text):
    return re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", text)


class Environment(unittest.TestCase):
    def test_the_page_names_the_variables_of_the_header(self):
        header = (SOURCE / "src/base/environment.h").read_text()
        page = (SOURCE / "docs/environment.md").read_text()
        in_header = set(re.findall(r"//\s*((?:DESCEND|ASCEND)_[A-Z_]+)", header))
        on_page = set(re.findall(r"(?m)^\| `((?:DESCEND|ASCEND)_[A-Z_]+)` \|", page))
        self.assertGreater(len(in_header), 5)
        self.assertEqual(on_page, in_header)

    def test_the_libraries_read_no_other_variable(self):
        header = (SOURCE / "src/base/environment.h").read_text()
        for folder in ("src", "ops"):
            for file in sorted((SOURCE / folder).rglob("*.cc")):
                if file.name.endswith(("_test.cc", "_bench.cc")):
                    continue
                for name in re.findall(r'getenv\(\s*"(\w+)"', file.read_text()):
                    with self.subTest(file=file.relative_to(SOURCE), name=name):
                        self.assertIn(name, header)


class Links(unittest.TestCase):
    def test_every_relative_link_leads_somewhere(self):
        self.follow_links(SOURCE)

    def test_those_of_installed_pages_do_too(self):
        for root in (PREFIX, BUILD):
            self.assertGreater(self.follow_links(root / "share/doc/descend"), 10)

    def follow_links(self, root):
        """Fails where one leads nowhere; how many there are."""
        followed = 0
        for page in pages(root):
            for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
                if re.match(r"[a-z]+:", target):
                    continue
                followed += 1
                path, _, fragment = target.partition("#")
                with self.subTest(page=str(page.relative_to(root)), link=target):
                    file = (page.parent / path) if path else page
                    self.assertTrue(file.exists(), "no such file")
                    if fragment:
                        anchors = {anchor(heading) for heading in re.findall(r"(?m)^#+ (.*)$", file.read_text())}
                        self.assertIn(fragment, anchors)
        return followed


class Commands(unittest.TestCase):
    def test_every_dev_command_on_a_page_exists(self):
        known = set(re.findall(r"(?m)^command_(\w+)\(\)", (SOURCE / "dev").read_text())) | {"help"}
        found = 0
        for page in pages():
            for command in re.findall(r"\./dev ([a-z]+)", page.read_text()):
                found += 1
                with self.subTest(page=str(page.relative_to(SOURCE)), command=command):
                    self.assertIn(command, known)
        self.assertGreater(found, 5)

    def test_every_option_of_a_dev_command_on_a_page_is_in_its_help(self):
        usage = subprocess.run([SOURCE / "dev", "help"], capture_output=True, text=True, check=True).stdout
        for page in pages():
            for line in re.findall(r"\./dev [a-z]+[^`\n#]*", page.read_text()):
                for option in re.findall(r"--[a-z-]+", line):
                    with self.subTest(page=str(page.relative_to(SOURCE)), line=line):
                        self.assertIn(option, usage)


class GeneratedTables(unittest.TestCase):
    """Between <!-- table:NAME --> and <!-- end:NAME --> stands what descend_doc prints for NAME."""

    def printed(self, name):
        argument = "--operators" if name == "operators" else name
        done = subprocess.run([BUILD / "descend_doc", argument], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.strip()

    def test_tables_are_current(self):
        found = []
        for page in pages():
            text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
            for name, table in re.findall(r"(?ms)^<!-- table:(\w+) -->$(.*?)^<!-- end:\1 -->$", text):
                found.append(name)
                with self.subTest(page=str(page.relative_to(SOURCE)), table=name):
                    self.assertEqual(table.strip(), self.printed(name), "descend_doc --write brings it up to date")
            for name in re.findall(r"(?m)^<!-- table:(\w+) -->$", text):
                self.assertIn(f"<!-- end:{name} -->", text, f"{page}: the table {name} has no end")
        self.assertIn("operators", found)

    def test_every_operator_has_its_table_on_its_page(self):
        on_pages = "".join(page.read_text() for page in SOURCE.glob("ops/*/README.md"))
        headers = "".join(header.read_text() for header in SOURCE.glob("ops/*/include/aclnnop/*.h"))
        for name in re.findall(r"(aclnn\w+)GetWorkspaceSize\(", headers):
            with self.subTest(operator=name):
                self.assertIn(f"<!-- table:{name} -->", on_pages)


class FirstPage(unittest.TestCase):
    def test_the_program_prints_what_the_page_says(self):
        readme = (SOURCE / "README.md").read_text()
        program = re.search(r"(?ms)^<!-- program -->\n```c\n(.*?)^```", readme)[1]
        output = re.search(r"(?ms)^<!-- output -->\n```text\n(.*?)^```", readme)[1]
        line = re.search(r"`(gcc program\.c [^`]*)`", readme)[1]
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "program.c").write_text(program)
            commands = f"set -e\nsource '{PREFIX}/set_env.sh'\n{line}\n./program"
            done = subprocess.run(["bash", "-c", commands], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.stdout, output, done.stderr)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
