# SPDX-License-Identifier: MIT
"""set_env.sh sets what it should in every shell, the build folder works as the prefix does, ./dev refuses nonsense."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DESCEND_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
BUILD = pathlib.Path(os.environ.get("DESCEND_BUILD", SOURCE / "build/release"))
PREFIX = pathlib.Path(os.environ.get("DESCEND_PREFIX", SOURCE / "build/prefix"))

PROGRAM = SOURCE / "tests/consumer/c99/elu_backward.c"

VARIABLES = {
    "ASCEND_HOME_PATH": "", "ASCEND_TOOLKIT_HOME": "", "ASCEND_CUSTOM_PATH": "", "ASCEND_OPP_PATH": "/opp",
    "LD_LIBRARY_PATH": "/lib64", "PATH": "/bin", "PYTHONPATH": "/python/site-packages",
    "CMAKE_PREFIX_PATH": "/lib64/cmake",
}


def clean_environment():
    """What a fresh login has: nothing that leads to this build."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8"}


def run(command, **options):
    options.setdefault("env", clean_environment())
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return done.returncode, done.stdout


class Sourcing(unittest.TestCase):
    shells = [shell for shell in ("bash", "zsh") if shutil.which(shell)]

    def source(self, shell, commands, **extra):
        code, output = run([shell, "-c", "set -eu\n" + commands], env={**clean_environment(), **extra}, cwd="/")
        self.assertEqual(code, 0, output)
        return output

    def test_every_variable_is_set_from_any_folder(self):
        for shell in self.shells:
            for prefix in (PREFIX, BUILD):
                output = self.source(shell, f"source '{prefix}/set_env.sh'\nenv")
                values = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
                for name, folder in VARIABLES.items():
                    with self.subTest(shell=shell, prefix=prefix, name=name):
                        self.assertEqual(values[name].split(":")[0], f"{prefix}{folder}")

    def test_twice_is_as_once_and_the_last_sourced_is_first(self):
        show = 'echo "$LD_LIBRARY_PATH|$PATH|$CMAKE_PREFIX_PATH"\n'
        for shell in self.shells:
            with self.subTest(shell=shell):
                first, second, third = self.source(
                    shell, f"source '{PREFIX}/set_env.sh'\n{show}source '{PREFIX}/set_env.sh'\n{show}"
                    f"source '{BUILD}/set_env.sh'\nsource '{PREFIX}/set_env.sh'\n{show}").splitlines()
                self.assertEqual(first, second)
                self.assertEqual(third.split("|")[0], f"{PREFIX}/lib64:{BUILD}/lib64")

    def test_paths_that_were_there_stay_and_no_empty_one_comes(self):
        for shell in self.shells:
            with self.subTest(shell=shell):
                output = self.source(shell, f"source '{PREFIX}/set_env.sh'\necho \"$LD_LIBRARY_PATH $PYTHONPATH\"",
                                     LD_LIBRARY_PATH="/mine:/yours")
                self.assertEqual(output.split(),
                                 [f"{PREFIX}/lib64:/mine:/yours", f"{PREFIX}/python/site-packages"])

    def test_a_custom_path_that_was_set_is_kept(self):
        output = self.source("bash", f"source '{PREFIX}/set_env.sh'\necho $ASCEND_CUSTOM_PATH",
                             ASCEND_CUSTOM_PATH="/elsewhere")
        self.assertEqual(output.strip(), "/elsewhere")


class Compiling(unittest.TestCase):
    """What consumer_test.py leaves: pkg-config in a moved prefix, and the build folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)

    def works(self, prefix, commands):
        commands = f"set -e\nsource '{prefix}/set_env.sh'\n{commands}\n./program"
        code, output = run(["bash", "-c", commands], cwd=self.work)
        self.assertEqual(code, 0, output)
        self.assertIn("result: 2 -0 0 1", output)

    def test_pkg_config_finds_a_moved_prefix_with_a_space_in_its_name(self):
        moved = self.work / "moved here"
        shutil.copytree(PREFIX, moved, symlinks=True)
        self.works(moved, 'export PKG_CONFIG_PATH="$ASCEND_HOME_PATH/lib64/pkgconfig"\n'
                          f'eval "gcc {PROGRAM} $(pkg-config --cflags --libs descend) -o program"')

    def test_the_build_folder_is_a_prefix_too(self):
        self.works(BUILD, f'gcc {PROGRAM} -I"$ASCEND_HOME_PATH/include" -L"$ASCEND_HOME_PATH/lib64" -lopapi_nn '
                          '-lnnopbase -lascendcl -o program')


class Usage(unittest.TestCase):
    def test_what_dev_does_not_know_is_2_and_says_so(self):
        for arguments, text in (([], "which command"), (["fly"], "no command 'fly'"),
                                (["install", "--prefix"], "needs a folder"), (["test", "--loud"], "'--loud'"),
                                (["test", "--sanitize", "sugar"], "'sugar'"), (["format", "all"], "'all'"),
                                (["run", "fast"], "'fast'")):
            with self.subTest(arguments=arguments):
                code, output = run([str(SOURCE / "dev"), *arguments], cwd="/")
                self.assertEqual(code, 2, output)
                self.assertIn(text, output)

    def test_help_names_every_command(self):
        code, output = run([str(SOURCE / "dev"), "help"])
        self.assertEqual(code, 0)
        for command in ("run", "test", "install", "bench", "format", "lint"):
            self.assertRegex(output, rf"(?m)^  {command}\b")


if __name__ == "__main__":
    unittest.main()
