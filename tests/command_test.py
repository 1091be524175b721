# SPDX-License-Identifier: MIT
"""`descend`, the command, as it is installed: what it prints, for people and for programs, and how it ends."""
import json
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import unittest

from installed import CC, SOURCE, clean_environment, prefix, run

# What the loader finds under our names in another installation: it says so, and has none of our functions.
OTHERS = '__attribute__((constructor)) static void loaded(void) { (void)!write(1, "other\\n", 6); }\n'
# Opens the operators as many programs do, and starts another program.
OPENS = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  void* library = dlopen("libopapi.so", RTLD_NOW);
  printf("%s\n", library != NULL && dlsym(library, "aclnnElu") != NULL ? "ours" : "not ours");
  fflush(stdout);
  return system("echo \"child: $LD_PRELOAD\"");
}
"""
# A terminal in which the first TAB of a new zsh is pressed.
FIRST_TAB = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1='> '; fpath=($1/share/zsh/site-functions \$fpath); autoload -U compinit; compinit -u -D; print rea''dy"
zpty -r z out '*ready*'
zpty -w -n z $'descend inf\t --qui\t\C-a: \C-e; print "[$_]" do\'\'ne\n'
zpty -r z out '*done*'
print -r -- $out
"""

COMMANDS = ["run", "info", "ops", "doc", "bench", "check", "completion"]


def descend(*arguments, **options):
    """The command with nothing of this installation on any path."""
    return subprocess.run([prefix() / "bin" / "descend", *map(str, arguments)], capture_output=True, text=True,
                          env=clean_environment(**options))


class Command(unittest.TestCase):
    def test_help_names_every_command_and_has_examples(self):
        text = descend("--help")
        self.assertEqual(text.returncode, 0)
        for command in COMMANDS:
            self.assertRegex(text.stdout, rf"(?m)^  {command} ")
            own = descend(command, "--help")
            self.assertEqual(own.returncode, 0, own.stderr)
            self.assertIn("Examples:", own.stdout)
            self.assertIn("--json", own.stdout)

    def test_nonsense_is_2_and_says_so(self):
        for arguments, part in ((["fly"], "'fly'"), ([], "subcommand"), (["ops", "--loud"], "--loud"),
                                (["doc"], "function"), (["run", "--threads", "x", "--", "true"], "--threads")):
            with self.subTest(arguments=arguments):
                result = descend(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(part, result.stderr)

    def test_with_json_mistakes_are_json_too(self):
        for arguments, status in ((["--json", "fly"], 2), (["ops", "--loud", "--json"], 2), (["doc", "fly", "--json"], 1),
                                  (["run", "--json", "--", "./no-such-program"], 127)):
            with self.subTest(arguments=arguments):
                result = descend(*arguments)
                self.assertEqual(result.returncode, status)
                self.assertEqual(json.loads(result.stderr)["status"], status)
                self.assertTrue(json.loads(result.stderr)["error"])

    def test_every_question_has_an_answer_in_json(self):
        info = json.loads(descend("info", "--quick", "--json").stdout)
        self.assertEqual(info["prefix"], str(prefix().resolve()))
        self.assertGreater(info["operators"], 10)
        self.assertIn(info["simd_target"], info["simd_targets"])
        self.assertTrue(info["plugins"]["cuda"])
        operators = json.loads(descend("--json", "ops").stdout)
        self.assertEqual(len(operators), info["operators"])
        self.assertEqual(next(each for each in operators if each["function"] == "aclnnEluBackward")
                         ["products_without_dtypes"]["Atlas training (Ascend910)"], "BF16")
        page = json.loads(descend("doc", "aclnnElu", "--json").stdout)
        self.assertEqual(page["parameters"][0]["name"], "self")
        self.assertIn("expm1", page["page"])
        self.assertIn("complete", json.loads(descend("completion", "fish", "--json").stdout)["script"])

    def test_info_measures_the_memory(self):
        self.assertRegex(descend("info").stdout, r"\d GB/s")

    def test_a_device_or_product_that_is_not_there_is_an_error_with_its_reason(self):
        for arguments, variables, part in ((["info", "--quick"], {"DESCEND_DEVICE": "nope"}, "libdescend_nope.so"),
                                           (["info", "--quick"], {"DESCEND_SOC": "nope"}, "a known product"),
                                           (["check", "--device", "nope"], {}, "one of: auto, cpu, reference")):
            with self.subTest(arguments=arguments):
                result = descend(*arguments, **variables)
                self.assertEqual(result.returncode, 1)
                self.assertIn("'nope'", result.stderr)
                self.assertIn(part, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_the_benchmarks_start_where_they_are_installed(self):
        result = descend("bench", "--list")
        if (prefix() / "libexec/descend/descend_bench").exists():
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("aclnnElu", result.stdout)
            self.assertEqual(json.loads(descend("bench", "--list", "--json").stdout), result.stdout.splitlines())
        else:
            self.assertEqual(result.returncode, 1)
            self.assertIn("no benchmarks", result.stderr)

    def test_a_trace_that_cannot_be_written_is_said(self):
        result = descend("run", "--trace", "/dev/full", "--", prefix() / "libexec/descend/examples/elu_example")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("DESCEND_TRACE: /dev/full could not be written to its end", result.stderr)

    def test_operators_of_one_product(self):
        names = [each["function"] for each in json.loads(descend("ops", "--soc", "Ascend310P3", "--json").stdout)]
        self.assertIn("aclnnElu", names)
        self.assertNotIn("aclnnNLLLoss", names)
        self.assertRegex(descend("ops", "--soc", "Ascend310P3").stdout, r"(?m)^aclnnEluBackward .* no BF16$")
        self.assertEqual(descend("ops", "--soc", "Ascend1").returncode, 1)

    def test_a_page_has_its_tables_and_no_marks(self):
        page = descend("doc", "aclnnNLLLoss").stdout
        self.assertRegex(page, r"(?m)^target +in +")
        for mark in ("<!--", "```", "|--", "\x1b"):
            self.assertNotIn(mark, page)
        self.assertEqual(descend("doc", "aclnnFly").returncode, 1)
        self.assertIn("padding", descend("doc", "DSC-102").stdout)
        self.assertEqual(descend("doc", "DSC-1").returncode, 1)

    def test_a_page_is_found_by_what_people_type(self):
        for name, others in (("aclnnEluBackward", ("elubackward", "ACLNNELUBACKWARD", "elu_backward")),
                             ("DSC-102", ("dsc-102", "102", "dsc102"))):
            page = descend("doc", name).stdout
            for other in others:
                self.assertEqual(descend("doc", other).stdout, page)
        self.assertIn("aclnnNLLLoss2dBackward", descend("doc", "nll").stderr)

    def test_colours_on_a_terminal_only(self):
        parent, child = pty.openpty()
        environment = clean_environment(TERM="xterm")
        subprocess.run([prefix() / "bin" / "descend", "ops"], stdout=child, env=environment, check=True)
        self.assertIn(b"\x1b[1m", os.read(parent, 4096))
        subprocess.run([prefix() / "bin" / "descend", "ops"], stdout=child, env={**environment, "NO_COLOR": "1"},
                       check=True)
        os.set_blocking(parent, False)
        rest = b""
        while block := self.some(parent):
            rest += block
        self.assertNotIn(b"\x1b[1m", rest.split(b"operator")[-1])

    def some(self, file):
        try:
            return os.read(file, 4096)
        except BlockingIOError:
            return b""

    def test_the_self_test_passes(self):
        results = json.loads(descend("check", "--json").stdout)
        self.assertGreater(len(results), 25)
        self.assertEqual([each for each in results if not each["correct"]], [])

    def test_completion_is_installed_and_read_by_its_shell(self):
        bash = prefix() / "share/bash-completion/completions/descend"
        script = f'source {bash}; COMP_WORDS=(descend doc aclnnNLL); COMP_CWORD=2; _descend; echo "${{COMPREPLY[@]}}"'
        self.assertIn("aclnnNLLLoss2d", run("bash", "-c", script))
        script = f'source {bash}; COMP_WORDS=(descend r); COMP_CWORD=1; _descend; echo "${{COMPREPLY[@]}}"'
        self.assertEqual(run("bash", "-c", script).strip(), "run")
        script = f'source {bash}; COMP_WORDS=(descend doc DSC-10); COMP_CWORD=2; _descend; echo "${{COMPREPLY[@]}}"'
        self.assertEqual(run("bash", "-c", script).split(), [f"DSC-10{i}" for i in range(1, 10)])
        script = f'source {bash}; COMP_WORDS=(descend --json info --q); COMP_CWORD=3; _descend; echo "${{COMPREPLY[@]}}"'
        self.assertEqual(run("bash", "-c", script).strip(), "--quick")
        for shell, file in (("zsh", "share/zsh/site-functions/_descend"),
                            ("fish", "share/fish/vendor_completions.d/descend.fish")):
            self.assertIn("aclnnElu", (prefix() / file).read_text())
            if shutil.which(shell):
                run(shell, "-n", prefix() / file)
        for line in (prefix() / "share/fish/vendor_completions.d/descend.fish").read_text().splitlines():
            self.assertRegex(line, r"^complete( [^'\s]+| '([^'\\]|\\['\\])*')+$")

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not here")
    def test_the_first_tab_in_zsh_completes(self):
        self.assertIn("[--quick]", run("zsh", "-f", "-c", FIRST_TAB, "zsh", prefix(), timeout=60))


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_program_without_any_path_runs(self):
        program = self.folder / "program"
        run(CC, "-std=c99", SOURCE / "tests/consumer/c99/elu_backward.c", f"-I{prefix()}/include",
            f"-L{prefix()}/lib64", "-lopapi", "-lnnopbase", "-lascendcl", "-o", program)
        self.assertNotEqual(subprocess.run([program], capture_output=True, env=clean_environment()).returncode, 0)
        self.assertIn("result: 2 -0 0 1", descend("run", "--", program).stdout)

    def test_a_program_built_for_another_prefix_runs_on_ours(self):
        other, lines = self.folder / "other", self.folder / "other.c"
        other.mkdir()
        lines.write_text("#include <unistd.h>\n" + OTHERS)
        (self.folder / "opens.c").write_text(OPENS)
        (self.folder / "main.c").write_text("int run(void);\nint main(void) { return run(); }\n")
        for name in ("opapi", "nnopbase", "ascendcl"):
            run(CC, "-shared", "-fPIC", lines, f"-Wl,-soname,lib{name}.so", "-o", other / f"lib{name}.so")
        ours = [f"-I{prefix()}/include", f"-L{prefix()}/lib64", "-lopapi", "-lnnopbase", "-lascendcl", "-ldl"]
        # Lazily, whatever the compiler's default: the other libraries have none of the functions.
        first = ["-Wl,-z,lazy", "-Wl,--disable-new-dtags", f"-Wl,-rpath,{other}"]
        source = SOURCE / "tests/consumer/c99/elu_backward.c"
        run(CC, source, *ours, *first, "-o", self.folder / "linked")
        run(CC, "-Dmain=run", "-shared", "-fPIC", source, *ours, *first, "-o", self.folder / "libmiddle.so")
        run(CC, self.folder / "main.c", f"-L{self.folder}", "-lmiddle", f"-Wl,-rpath,{self.folder}",
            f"-Wl,-rpath-link,{prefix()}/lib64", "-o", self.folder / "by_library")
        run(CC, self.folder / "opens.c", *first, "-ldl", "-o", self.folder / "opens")
        for name in ("linked", "by_library"):
            self.assertIn("other", subprocess.run([self.folder / name], capture_output=True, text=True,
                                                  env=clean_environment()).stdout)
            result = descend("run", "--", self.folder / name)
            self.assertIn("result: 2 -0 0 1", result.stdout, result.stderr)
            self.assertNotIn("other", result.stdout)
        # What the program starts is not made to load ours.
        self.assertEqual(descend("run", "--", self.folder / "opens").stdout, "ours\nchild: \n")
        self.assertEqual(descend("run", "--", self.folder / "opens", LD_PRELOAD="libm.so.6").stdout,
                         "ours\nchild: libm.so.6\n")
        self.assertEqual(descend("run", "--", "sh", "-c", "echo $LD_PRELOAD").stdout, "\n")
        # The loader's list has no way to write a space.
        spaced = self.folder / "with a space"
        shutil.copytree(prefix(), spaced, symlinks=True)
        result = subprocess.run([spaced / "bin/descend", "run", "--", self.folder / "linked"], capture_output=True,
                                text=True, env=clean_environment())
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("without spaces and colons", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_a_variable_in_another_encoding_is_shown_as_such(self):
        result = descend("info", "--quick", "--json", DESCEND_X=b"\xff\xfe")
        self.assertEqual(json.loads(result.stdout)["variables"]["DESCEND_X"], "\ufffd\ufffd", result.stderr)

    def test_the_program_may_stand_without_a_mark_before_it(self):
        self.assertEqual(descend("run", "--threads", "3", "sh", "-c", 'echo $DESCEND_THREADS "$@"', "sh", "--json", "--",
                                 "--check").stdout, "3 --json -- --check\n")
        self.assertEqual(descend("run", "--loud", "true").returncode, 2)

    def test_options_are_variables_and_the_rest_is_the_programs(self):
        script = 'echo "$DESCEND_CHECK|$DESCEND_DEVICE|$DESCEND_SOC|$DESCEND_THREADS|$DESCEND_TRACE|$1"'
        result = descend("run", "--check", "--device", "reference", "--soc", "Ascend950", "--threads", "3", "--trace",
                         self.folder / "t.json", "--", "sh", "-c", script, "sh", "--check")
        self.assertEqual(result.stdout.strip(), f"1|reference|Ascend950|3|{self.folder / 't.json'}|--check")

    def test_it_ends_as_the_program_does(self):
        self.assertEqual(descend("run", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(descend("run", "--", "./no-such-program").returncode, 127)
        self.assertEqual(descend("run").returncode, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
