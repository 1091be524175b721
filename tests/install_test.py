# SPDX-License-Identifier: MIT
"""The installed prefix is found by shells, compilers, CMake and pkg-config, also after it was moved."""
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("DESCEND_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
BUILD = pathlib.Path(os.environ.get("DESCEND_BUILD", SOURCE / "build/release"))
PREFIX = pathlib.Path(os.environ.get("DESCEND_PREFIX", SOURCE / "build/prefix"))

# Prints the name of the SoC and calls one function of each library, so that each is linked and loaded.
PROGRAM = r"""
#include <stdio.h>
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_elu.h"
int main(void) {
  printf("%s\n", aclrtGetSocName());
  aclDestroyTensor(NULL);
  return aclnnElu(NULL, 0, NULL, NULL) == 161001 ? 0 : 1;
}
"""

CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
find_package(Descend 0.1 REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE Descend::opapi)
"""

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


class Consumers(unittest.TestCase):
    """Built and run against a prefix that was moved, with a space in its name."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.prefix = cls.work / "moved here"
        shutil.copytree(PREFIX, cls.prefix, symlinks=True)
        (cls.work / "program.c").write_text(PROGRAM)
        (cls.work / "CMakeLists.txt").write_text(CMAKE)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def works(self, commands):
        code, output = run(["bash", "-c", f"set -e\nsource '{self.prefix}/set_env.sh'\n{commands}"], cwd=self.work)
        self.assertEqual(code, 0, output)
        self.assertIn("Ascend910B1", output)
        return output

    def test_the_compile_line_that_install_prints(self):
        self.works('gcc program.c -I"$ASCEND_HOME_PATH/include" -L"$ASCEND_HOME_PATH/lib64" -lopapi -lnnopbase '
                   '-lascendcl -o by_hand && ./by_hand')

    def test_other_names_of_the_libraries(self):
        self.works('gcc program.c -I"$ASCEND_HOME_PATH/include" -L"$ASCEND_HOME_PATH/lib64" -lopapi_nn -lopapi_math '
                   '-lopapi_cv -laclnn_math -laclnn_ops_infer -laclnn_ops_train -lnnopbase -lacl_rt -o by_names && '
                   './by_names')

    def test_folders_of_the_architecture(self):
        arch = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
        self.works(f'A="$ASCEND_HOME_PATH/{arch}-linux"\ngcc program.c -I"$A/include" -L"$A/lib64" -lopapi -lnnopbase '
                   '-lascendcl -o by_arch && ./by_arch')

    def test_find_package(self):
        # Without LD_LIBRARY_PATH: CMake's run path and the libraries' own must be enough.
        self.works("cmake -S . -B build >log 2>&1 || { cat log; exit 1; }\ncmake --build build\n"
                   "env -u LD_LIBRARY_PATH build/program")

    @unittest.skipUnless(shutil.which("pkg-config"), "there is no pkg-config")
    def test_pkg_config(self):
        self.works('export PKG_CONFIG_PATH="$ASCEND_HOME_PATH/lib64/pkgconfig"\n'
                   'for name in ascendcl nnopbase opapi; do pkg-config --exists --print-errors $name; done\n'
                   'eval "gcc program.c $(pkg-config --cflags --libs descend) -o by_pkg_config" && ./by_pkg_config')


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
