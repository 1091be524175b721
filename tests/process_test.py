#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How a process that used the runtime ends, and what its forked children can do: nothing hangs, nothing crashes."""
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from installed import CXX, SOURCE, clean_environment, prefix, run

PATIENCE = 120  # seconds; a program that ends by itself takes far less than one


class Process(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name in ("exit", "fork"):
            run(CXX, "-std=c++17", "-O1", "-Wall", "-Wextra", SOURCE / "tests" / "process" / f"{name}.cc",
                f"-I{prefix()}/include", f"-L{prefix()}/lib64", "-lascendcl", "-lpthread", "-o", cls.folder / name)

    def start(self, program, how, **variables):
        environment = clean_environment(LD_LIBRARY_PATH=f"{prefix()}/lib64", **variables)
        process = subprocess.Popen([self.folder / program, how], env=environment, text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            self.fail(f"{program} {how} hangs:\n{output}")
        self.assertEqual(process.returncode, 0, f"{program} {how}:\n{output}")
        return output

    def test_exit_at_any_moment(self):
        for how in ("unused", "idle", "busy", "callback", "processing", "waiting", "thread", "thread_late", "atexit",
                    "cancel"):
            with self.subTest(how=how):
                self.start("exit", how)

    def test_static_destructors_may_still_use_the_runtime(self):
        self.assertIn("late user done", self.start("exit", "late"))

    def test_a_forked_child_works_and_ends(self):
        for how in ("exit", "inherited", "new", "busy", "callback", "threads"):
            with self.subTest(how=how):
                self.assertIn("parent done", self.start("fork", how))

    def test_a_forked_child_works_when_calls_are_synchronous(self):
        for how in ("inherited", "new"):
            with self.subTest(how=how):
                self.assertIn("parent done", self.start("fork", how, DESCEND_SYNC="1"))


if __name__ == "__main__":
    unittest.main()
