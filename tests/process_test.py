#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How a process that used the runtime ends, what its forked children can do, and how it gets by with few threads:
nothing hangs, nothing crashes."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from installed import CXX, EMULATED_CARD, SOURCE, clean_environment, emulated_card, prefix, run

PATIENCE = 120  # seconds; a program that ends by itself takes far less than one


class Programs:
    """The programs of tests/process, on the device that is tested or the one that variables name."""
    on_a_card = os.environ.get("DESCEND_DEVICE", "cpu").startswith("cuda")  # ends with main, and is not inherited
    variables = {}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name in ("exit", "fork", "threads", "stack", "subnormals", "refused"):
            run(CXX, "-std=c++17", "-O1", "-Wall", "-Wextra", SOURCE / "tests" / "process" / f"{name}.cc",
                f"-I{prefix()}/include", f"-L{prefix()}/lib64", "-lopapi", "-lnnopbase", "-lascendcl", "-lpthread", "-ldl",
                "-o", cls.folder / name)

    def start(self, program, *how, status=0, **variables):
        environment = clean_environment(LD_LIBRARY_PATH=f"{prefix()}/lib64", **self.variables, **variables)
        process = subprocess.Popen([self.folder / program, *map(str, how)], env=environment, text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            self.fail(f"{program} {how} hangs:\n{output}")
        self.assertEqual(process.returncode, status, f"{program} {how}:\n{output}")
        return output

    def fork(self, how, **variables):
        if self.on_a_card and how != "exit":
            output = self.start("fork", how, status=1, **variables)
            self.assertIn("CUDA cannot be used in a process that was forked", output)
            self.assertIn("the child ended with 256", output)
        else:
            self.assertIn("parent done", self.start("fork", how, **variables))


class Process(Programs, unittest.TestCase):
    def test_exit_at_any_moment(self):
        for how in ("unused", "idle", "busy", "callback", "processing", "waiting", "thread", "thread_late", "atexit",
                    "cancel"):
            with self.subTest(how=how):
                self.start("exit", how)

    def test_static_destructors_may_still_use_the_runtime(self):
        if self.on_a_card:
            self.assertIn("driver shutting down", self.start("exit", "late", status=1))
        else:
            self.assertIn("late user done", self.start("exit", "late"))

    def test_a_forked_child_works_and_ends(self):
        for how in ("exit", "initialised", "inherited", "new", "busy", "callback", "threads"):
            with self.subTest(how=how):
                self.fork(how)

    def test_what_is_behind_a_function_that_forks_is_the_parents(self):
        for how in ("in_function", "in_callback"):
            with self.subTest(how=how):
                self.assertEqual(self.start("fork", how).splitlines(), ["run by the parent", "parent done"])

    def test_calls_of_a_thread_that_is_cancelled_end_first(self):
        for variable, value in (("DESCEND_SYNC", "0"), ("DESCEND_SYNC", "1"), ("DESCEND_CHECK", "1"),
                                ("DESCEND_TRACE", str(self.folder / "cancelled.json"))):
            with self.subTest(variable, value=value):
                self.assertIn("cancelled after its calls", self.start(
                    "exit", "cancelled_calls", status=66 if variable == "DESCEND_CHECK" else 0, **{variable: value}))

    def test_callers_may_have_small_stacks(self):
        for synchronous in ("0", "1"):
            for kibibytes in (192, 512, 4096):
                with self.subTest(kibibytes=kibibytes, synchronous=synchronous):
                    output = self.start("stack", kibibytes, DESCEND_SYNC=synchronous)
                    self.assertEqual(output, "the loss is 4.15888\n")

    def test_a_stream_for_which_no_thread_can_be_started_says_so_and_goes_on_later(self):
        for how in ("at_once", "waiting_for_stream", "destroyed", "destroyed_before"):
            with self.subTest(how=how):
                self.assertEqual(self.start("refused", how).splitlines()[-1], "the stream went on")
        self.assertEqual(self.start("refused", "synchronous", DESCEND_SYNC="1").splitlines()[-1], "the stream went on")

    def test_who_waits_for_an_event_or_polls_has_a_thread_started_for_it(self):
        for how in ("event", "other_stream", "other_streams_failure", "waiting_for_event", "polled_event", "polled_stream",
                    "polled_wait"):
            with self.subTest(how=how):
                self.assertEqual(self.start("refused", how).splitlines()[-1], "the stream went on")

    def test_subnormals_are_kept_by_threads_that_begin_without(self):
        self.assertEqual(self.start("subnormals", DESCEND_THREADS="2"), "1048576 of 1048576 kept\n")

    def test_the_trace_is_the_parents(self):
        path = self.folder / "trace.json"
        self.fork("exit", DESCEND_TRACE=str(path))
        events = json.loads(path.read_text())["traceEvents"]
        self.assertEqual(sum(event["name"] == "aclInit" for event in events), 1)

    def test_a_forked_child_works_when_calls_are_synchronous(self):
        for how in ("inherited", "new"):
            with self.subTest(how=how):
                self.fork(how, DESCEND_SYNC="1")


@unittest.skipUnless(EMULATED_CARD.exists(), "CUDA's headers are not here")
class ProcessOnTheEmulatedCard(Process):
    on_a_card = True
    variables = emulated_card()


class ProcessOnTheCpu(Programs, unittest.TestCase):
    """What is the cpu device's alone: its loops, and how it counts the host's memory and threads."""
    on_a_card = False
    variables = {"DESCEND_DEVICE": "cpu"}

    def test_a_signal_handler_may_end_the_process_during_its_first_loop(self):
        self.assertIn("ended by the handler", self.start("exit", "signal", DESCEND_THREADS="2"))

    def test_without_loops_a_process_ends_with_its_last_thread_but_those_of_streams(self):  # oneTBB's workers stay
        self.assertIn("ended with the last thread", self.start("exit", "last_thread", DESCEND_THREADS="1"))

    def test_a_child_does_not_wait_for_another_threads_first_allocation(self):
        self.fork("first_allocation")

    def test_loops_get_by_with_the_threads_that_can_be_made(self):
        for can_be_made, taken in ((0, 0), (1, 0), (3, 1), (7, 3), (10, 6), (11, 7)):  # some are left to streams
            with self.subTest(can_be_made=can_be_made):
                output = self.start("threads", can_be_made, taken, DESCEND_THREADS="8", ASCEND_GLOBAL_LOG_LEVEL="2")
                self.assertIn(f"{1 + taken} threads are running", output)
                warned = f"{1 + taken} thread{'s' if taken else ''} instead of 8"
                self.assertEqual(output.count(warned), 1 if taken < 7 else 0, output)


if __name__ == "__main__":
    unittest.main()
