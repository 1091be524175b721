#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs built against the installed prefix in every way clients do, with nothing else on any path, and run."""
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from installed import CC, CXX, LINK_NAMES, SHARED, SOURCE, clean_environment, declarations, headers, prefix, run

BUILD = pathlib.Path(os.environ.get("DESCEND_BUILD", SOURCE / "build/release"))
CONSUMER = SOURCE / "tests" / "consumer"
C99 = [CC, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", CONSUMER / "c99" / "elu_backward.c"]
CXX11 = [CXX, "-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror", CONSUMER / "cxx11" / "elu_backward.cpp"]
EXAMPLES = SHARED / "documents" / "examples"
# What the documents' programs print.  The last one's buffers hold other data than its tensors say: it must run.
PRINTED = {
    "smooth_l1_loss_backward": [-1, 0, 1, 1, 1, 1, 1, 1],
    "elu_backward": [2, -0.0, 0, 1],
    "nll_loss2d_backward": [{2: -2.7, 8: -2.6, 11: -2.5}.get(i, 0) for i in range(15)],
    "upsample_nearest3d_backward": [36, 100, 164, 228],
    "cross_entropy_loss_grad": None,
}
LIBRARIES = ["-lopapi", "-lnnopbase", "-lascendcl"]
SOURCE_AND_RUN = 'source "$1/set_env.sh" && shift && exec "$@"'


def in_shell(shell, installation, *command, **options):
    """Runs a command in a shell that has sourced the installation's set_env.sh."""
    return run(shell, "-c", SOURCE_AND_RUN, shell, installation, *command, **options)


class Consumer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "program"

    def check(self, output):
        """What the programs print: the gradient, then the text of a call with a tensor that is too short."""
        self.assertIn("result: 2 -0 0 1\nworkspace: 0\n", output)
        self.assertIn("status: 161002\n", output)
        self.assertRegex(output, r"text: \[PID: \d+\] .*AclNN_Parameter_Error\(EZ1001\): aclnnEluBackward\w*: "
                                 r"selfOrResult must satisfy: .*; it is .*\[3\]")
        self.assertIn("text again: none\n", output)
        self.assertIn("failures: 0\n", output)

    def build(self, compiler, installation, libraries=tuple(LIBRARIES)):
        run(*compiler, f"-I{installation}/include", f"-L{installation}/lib64", *libraries, "-o", self.program)

    def run_with(self, installation):
        return run(self.program, env=clean_environment(LD_LIBRARY_PATH=f"{installation}/lib64"))

    def libraries_of(self, output):
        """{name: folder} of what ldd printed."""
        found = re.findall(r"^\s*(\S+) => (.+) \(0x\w+\)$", output, re.M)
        return {name: os.path.dirname(path) for name, path in found}

    def test_c99(self):
        self.build(C99, prefix())
        self.check(self.run_with(prefix()))

    def test_cxx11(self):
        self.build(CXX11, prefix())
        self.check(self.run_with(prefix()))

    def test_cxx11_with_clang(self):
        if not shutil.which("clang++"):
            self.skipTest("clang++ is not installed")
        self.build(["clang++", *CXX11[1:]], prefix())
        self.check(self.run_with(prefix()))

    def test_every_link_name_links(self):
        for name in LINK_NAMES["libopapi.so"]:
            with self.subTest(name=name):
                runtime = "-lacl_rt" if name == "libopapi_nn.so" else "-lascendcl"
                self.build(C99, prefix(), ["-l" + name[3:-3], "-lnnopbase", runtime])
                self.check(self.run_with(prefix()))

    def test_sample_cmake_lists(self):
        in_shell("bash", prefix(), "cmake", "-S", CONSUMER / "sample", "-B", self.folder / "build",
                 "-DCMAKE_SKIP_RPATH=TRUE")
        in_shell("bash", prefix(), "cmake", "--build", self.folder / "build")
        self.check(in_shell("bash", prefix(), self.folder / "build" / "bin" / "elu_backward"))

    def build_package(self, installation):
        in_shell("bash", installation, "cmake", "-S", CONSUMER / "find_package", "-B", self.folder / "build")
        run("cmake", "--build", self.folder / "build")

    def test_cmake_package(self):
        self.build_package(prefix())
        for program in ("in_c", "in_cxx"):
            # CMake writes the libraries' folder into the program: no variable is needed.
            self.check(run(self.folder / "build" / program))

    def test_cmake_package_by_the_prefix_alone(self):
        for name, installation in (("installed", prefix()), ("built", BUILD)):
            run("cmake", "-S", CONSUMER / "find_package", "-B", self.folder / name, f"-DCMAKE_PREFIX_PATH={installation}",
                env=clean_environment())
            run("cmake", "--build", self.folder / name)
            self.check(run(self.folder / name / "in_c"))

    def test_pkg_config(self):
        search = clean_environment(PKG_CONFIG_PATH=str(prefix() / "lib64" / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "descend", env=search).split()
        run(*C99, *flags, "-o", self.program)
        self.check(self.run_with(prefix()))
        for name in ("ascendcl", "nnopbase", "opapi"):
            self.assertIn("-l" + name, run("pkg-config", "--libs", name, env=search).split())

    def test_dlopen_and_dlsym_alone(self):
        run(CXX, "-std=c++11", "-Wall", "-Wextra", "-Werror", CONSUMER / "dlopen" / "elu_backward.cpp",
            f"-I{prefix()}/include", "-ldl", "-o", self.program)
        output = self.run_with(prefix())
        self.assertIn("result: 2 -0 0 1\nworkspace: 0\nstatus: 161001\n", output)
        self.assertRegex(output, r"text: .*gradOutput")
        self.assertIn("failures: 0\n", output)

    def test_runs_without_relinking(self):
        """Linked against another implementation, whose libraries are real files under all these names."""
        other = self.folder / "other"
        other.mkdir()
        for name, folder in (("libacl_rt.so", "acl"), ("libnnopbase.so", "aclnn"), ("libopapi_nn.so", "aclnnop")):
            functions = {function for header in headers() if header.startswith(folder + "/")
                         for function in declarations(header)}
            source = other / (name + ".c")
            source.write_text("".join(f"void {function}(void) {{}}\n" for function in sorted(functions)))
            run(CC, "-shared", "-fPIC", f"-Wl,-soname,{name}", source, "-o", other / name)
        run(*C99, f"-I{prefix()}/include", f"-L{other}", "-lopapi_nn", "-lnnopbase", "-lacl_rt", "-o", self.program)
        self.check(self.run_with(prefix()))

    def moved(self):
        """A copy of the prefix that was moved after copying, to a folder whose name has a space."""
        first, second = self.folder / "first", self.folder / "a second"
        shutil.copytree(prefix(), first, symlinks=True)
        first.rename(second)
        return second

    def check_moved(self, shell):
        installation = self.moved()
        self.build(CXX11, installation)
        self.check(in_shell(shell, installation, self.program))
        folders = self.libraries_of(in_shell(shell, installation, "ldd", self.program))
        for library in ("libopapi.so", "libnnopbase.so", "libascendcl.so", "libdescend.so"):
            self.assertEqual(os.path.realpath(folders[library]), str(installation.resolve() / "lib64"))

    def test_a_moved_prefix_works_from_bash(self):
        self.check_moved("bash")

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_a_moved_prefix_works_from_zsh(self):
        self.check_moved("zsh")

    def test_a_moved_prefix_is_a_cmake_package(self):
        installation = self.moved()
        self.build_package(installation)
        self.check(run(self.folder / "build" / "in_c"))
        folders = self.libraries_of(run("ldd", self.folder / "build" / "in_c"))
        self.assertEqual(os.path.realpath(folders["libopapi.so"]), str(installation.resolve() / "lib64"))

    def test_symlinks_by_architecture(self):
        machine = os.uname().machine
        folder = prefix() / f"{machine}-linux"
        self.build(C99, folder)
        self.check(self.run_with(folder))

    @unittest.skipUnless(EXAMPLES.exists(), f"the documents are not at {EXAMPLES}")
    def test_the_documents_examples_unmodified(self):
        for name, expected in PRINTED.items():
            with self.subTest(name):
                run(CXX, "-std=c++11", EXAMPLES / f"{name}.cpp", f"-I{prefix()}/include", f"-L{prefix()}/lib64",
                    *LIBRARIES, "-o", self.program)
                output = self.run_with(prefix())
                results = re.findall(r"^result\[(\d+)\] is: (\S+)$", output, re.M)
                self.assertEqual([int(index) for index, _ in results], list(range(len(results))))
                if expected is None:
                    self.assertEqual(len(results), 6)
                else:
                    self.assertEqual([value for _, value in results], [f"{value:.6f}" for value in expected])


if __name__ == "__main__":
    unittest.main(verbosity=2)
