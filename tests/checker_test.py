# SPDX-License-Identifier: MIT
"""The checker and the trace, on programs: each finding is reported where it should be, and nowhere else."""
import itertools
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import unittest

from installed import CC, CXX, SHARED, SOURCE, clean_environment, prefix, run

PROGRAMS = SOURCE / "tests" / "checker"
EXAMPLES = SHARED / "documents" / "examples"
FOUND = 66
# What is wrong with the documents' programs: (id, argument).
WRONG = {
    "smooth_l1_loss_backward": [],
    "elu_backward": [],
    "nll_loss2d_backward": [],
    "upsample_nearest3d_backward": [("DSC-304", "aclIntArray"), ("DSC-304", "aclIntArray")],
    "cross_entropy_loss_grad": [("DSC-112", "gradLoss"), ("DSC-112", "logProb"), ("DSC-102", "target"),
                                ("DSC-112", "out")],
}


def table():
    """{id: (title, why, remedy)} of the one table of findings."""
    text = (SOURCE / "src/check/findings.h").read_text()
    numbers = dict(re.findall(r"(k\w+) = (\d+),", text))
    string = r'"((?:[^"\\]|\\.)*)"'
    rows = re.findall(rf"\{{Finding::(k\w+),\s*{string},\s*{string},\s*{string}\}}", re.sub(r'"\s*\n\s*"', "", text))
    return {f"DSC-{numbers[name]}": tuple(each.replace('\\"', '"') for each in texts) for name, *texts in rows}


class Built(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, source, *options, compiler=(CC, "-std=gnu99", "-Wall", "-Werror")):
        program = self.folder / source.stem
        run(*compiler, "-g", *options, source, f"-I{prefix()}/include", f"-L{prefix()}/lib64", "-lopapi", "-lnnopbase",
            "-lascendcl", "-lpthread", "-o", program)
        return program

    def descend(self, *arguments):
        environment = clean_environment(ASCEND_GLOBAL_LOG_LEVEL="4")
        return subprocess.run([prefix() / "bin" / "descend", "run", *map(str, arguments)], capture_output=True,
                              text=True, timeout=600, env=environment)


class Programs(Built):
    def check(self, program, *options, arguments=()):
        """The exit status and the findings."""
        report = self.folder / "findings.json"
        ended = self.descend("--check", "--report", report, *options, "--", program, *arguments)
        return ended.returncode, [json.loads(line) for line in report.read_text().splitlines()]

    def test_each_finding_is_reported_and_its_correction_is_not(self):
        for source in sorted(PROGRAMS.glob("dsc_*.c")):
            identity = f"DSC-{source.stem[4:7]}"
            with self.subTest(source.stem):
                status, found = self.check(self.build(source))
                self.assertEqual({each["id"] for each in found}, {identity}, found)
                self.assertEqual(status, -11 if identity == "DSC-109" else FOUND)
                for each in found:
                    self.assertTrue(each["why"] and each["do"] and each["title"])
                    self.assertTrue(each["sites"][0]["frames"], "no place in the program")
                status, found = self.check(self.build(source, "-DFIXED"))
                self.assertEqual((status, found), (0, []))

    def test_a_finding_says_where_what_and_what_to_do(self):
        program = self.build(PROGRAMS / "dsc_102.c")
        text = self.descend("--check", "--", program).stderr
        self.assertIn("DSC-102 aclnnNLLLoss, target: ", text)
        self.assertIn("INT64[2] takes bytes 0 to 16 of memory of 8 bytes (64 with padding)", text)
        for label in ("called at", "the memory was allocated at", "the tensor was created at"):
            self.assertRegex(text, rf"{label}\n( +#\d .*\n)* +#\d main at .*dsc_102\.c:\d+")
        self.assertIn("==descend== 1 finding: DSC-102\n", text)

    def test_the_second_place_of_a_race_is_named(self):
        _, found = self.check(self.build(PROGRAMS / "dsc_201.c"))
        self.assertIn("the other work was submitted at", [site["label"] for site in found[0]["sites"]])

    def test_the_host_at_device_memory_is_seen_in_libraries_and_on_threads(self):
        program = self.build(PROGRAMS / "reach.c")
        for how, place in (("copy", "main"), ("print", "main"), ("thread", "on_a_thread"), ("stream", "in_a_stream"),
                           ("freed", "main")):
            with self.subTest(how):
                report = self.folder / "findings.json"
                ended = self.descend("--check", "--report", report, "--", program, how)
                found = [json.loads(line) for line in report.read_text().splitlines()]
                self.assertEqual([each["id"] for each in found], ["DSC-109"])
                self.assertEqual(found[0]["sites"][0]["frames"][0]["function"], place)
                self.assertEqual(ended.returncode, -11)

    def test_functions_of_the_host_are_where_their_stream_has_them(self):
        program = self.build(PROGRAMS / "callbacks.c")
        for what, expected in (("race", ["DSC-202"]), ("order", []), ("unwritten", ["DSC-107"]),
                               ("inside_race", ["DSC-202"]), ("inside_unwritten", ["DSC-107"])):
            with self.subTest(what):
                _, found = self.check(program, arguments=[what])
                self.assertEqual([each["id"] for each in found], expected, found)

    def test_functions_of_the_host_that_never_return_are_not_waited_for(self):
        program = self.build(PROGRAMS / "dropped.c")
        for how, expected in (("failed", {"DSC-101", "DSC-107"}), ("unsubscribed", {"DSC-107"}), ("ended", {"DSC-107"})):
            with self.subTest(how):
                _, found = self.check(program, arguments=[how])
                self.assertEqual({each["id"] for each in found}, expected, found)

    def test_results_that_are_not_finite_are_seen_in_every_dtype_and_layout(self):
        program = self.build(PROGRAMS / "results.c")
        names = re.findall(r"(?m)^  ACL_(FLOAT|FLOAT16|BF16|DOUBLE|COMPLEX\d+) = (\d+),$",
                           (prefix() / "include/acl/acl_base.h").read_text())
        self.assertEqual(len(names), 7)
        for (name, number), step, at in itertools.product(names, "12", ("0", "39")):
            with self.subTest(name, step=step, at=at):
                self.assertEqual(self.check(program, arguments=[number, step, "1", at]), (0, []))
                _, found = self.check(program, arguments=[number, step, "3e38", at])
                self.assertEqual([each["id"] for each in found], ["DSC-403"], found)
                self.assertRegex(found[0]["text"], rf"^{name}\[40\].* has (inf|a NaN or an infinity) at \[{at}\]")

    def test_copies_past_the_end_and_memory_freed_twice_are_told_although_they_are_refused(self):
        status, found = self.check(self.build(PROGRAMS / "bounds.c"))
        self.assertEqual([(each["id"], each["function"]) for each in found],
                         [("DSC-101", "aclrtMemcpy"), ("DSC-101", "aclrtMemset"), ("DSC-104", "aclrtFree")])
        self.assertEqual(status, FOUND)

    def test_a_program_that_opens_the_library_late_cleans_up_before_it_is_judged(self):
        program = self.build(PROGRAMS / "late.c", "-ldl")
        ended = self.descend("--check", "--", program, "libascendcl.so")
        self.assertEqual((ended.returncode, ended.stdout), (0, "cleaned up\n"), ended.stderr)
        ended = self.descend("--check", "--", program, "libascendcl.so", "forgetful")
        self.assertEqual((ended.returncode, ended.stdout), (FOUND, "cleaned up\n"), ended.stderr)
        self.assertIn("==descend== 1 finding: DSC-306\n", ended.stderr)

    def test_frames_of_the_libraries_are_not_shown_by_whatever_name_they_were_opened(self):
        program = self.build(PROGRAMS / "late.c", "-ldl")
        for name in ("libascendcl.so", "libacl_rt.so"):
            _, found = self.check(program, arguments=[name, "forgetful"])
            self.assertEqual([site["frames"][0]["function"] for site in found[0]["sites"]], ["main"], found)

    def test_what_the_host_learns_of_events_it_knows(self):
        program = self.build(PROGRAMS / "polled.c")
        for what in ("elapsed", "waits"):
            with self.subTest(what):
                self.assertEqual(self.check(program, arguments=[what]), (0, []))
        _, found = self.check(program, arguments=["nothing"])
        self.assertEqual({each["id"] for each in found}, {"DSC-202", "DSC-108"})

    def test_suppressed_findings_are_not_there(self):
        program = self.build(PROGRAMS / "dsc_107.c")
        for ids in ("DSC-107", "DSC-999,DSC-1*"):
            self.assertEqual(self.check(program, "--suppress", ids), (0, []))
        self.assertEqual(self.check(program, "--suppress", "DSC-10")[0], FOUND)

    def test_findings_as_json_on_standard_error(self):
        ended = self.descend("--check", "--json", "--", self.build(PROGRAMS / "dsc_107.c"))
        self.assertEqual(json.loads(ended.stderr)["id"], "DSC-107")

    def test_colours_on_a_terminal_that_has_them(self):
        program = self.build(PROGRAMS / "dsc_107.c")
        for kind, coloured in (("xterm", True), ("dumb", False)):
            parent, child = pty.openpty()
            subprocess.run([prefix() / "bin" / "descend", "run", "--check", "--", program], stderr=child,
                           env=clean_environment(TERM=kind))
            self.assertEqual(b"\x1b[1;31mDSC-107" in os.read(parent, 4096), coloured)
            os.close(parent)
            os.close(child)

    def test_a_status_that_is_not_0_is_kept(self):
        source = self.folder / "failing.c"
        source.write_text((PROGRAMS / "dsc_107.c").read_text().replace("return finish();", "finish(); return 3;")
                          .replace('"program.h"', f'"{PROGRAMS}/program.h"'))
        status, found = self.check(self.build(source))
        self.assertEqual((status, len(found)), (3, 1))

    def test_a_forked_child_ends_by_what_it_found_itself(self):
        program = self.build(PROGRAMS / "forked.c")
        last = {FOUND: "==descend== 1 finding: DSC-107", 0: "==descend== nothing found"}
        for who, child, parent in (("nobody", 0, 0), ("child", FOUND, 0), ("parent", 0, FOUND), ("frees", 0, 0)):
            with self.subTest(who):
                ended = self.descend("--check", "--", program, who)
                self.assertEqual((ended.returncode, ended.stdout), (parent, f"{child}\n"), ended.stderr)
                lines = [line for line in ended.stderr.splitlines() if line in last.values()]
                self.assertEqual(lines, ([last[child]] if child else []) + [last[parent]])

    def test_a_copy_that_is_over_when_it_returns_is_no_race(self):
        self.assertEqual(self.check(self.build(PROGRAMS / "pageable.c")), (0, []))

    def test_our_own_programs_are_right(self):
        """Those of the README and of the tests; the operators' examples are run so by `descend check`."""
        readme = self.folder / "readme.c"
        readme.write_text(re.search(r"```c\n(.*?)```", (SOURCE / "README.md").read_text(), re.S)[1])
        for source in (readme, SOURCE / "tests/consumer/c99/elu_backward.c"):
            self.assertEqual(self.check(self.build(source)), (0, []))

    def test_threads_streams_events_and_callbacks_that_are_right(self):
        program = self.build(PROGRAMS / "threads.c")
        for device in {"cpu", "reference", clean_environment()["DESCEND_DEVICE"]}:
            for _ in range(3):
                self.assertEqual(self.check(program, "--device", device), (0, []))

    @unittest.skipUnless(EXAMPLES.exists(), f"the documents are not at {EXAMPLES}")
    def test_what_is_wrong_with_the_documents_programs(self):
        for name, expected in WRONG.items():
            with self.subTest(name):
                program = self.build(EXAMPLES / f"{name}.cpp", compiler=(CXX, "-std=c++11"))
                status, found = self.check(program)
                self.assertEqual([(each["id"], each["argument"]) for each in found], expected)
                self.assertEqual(status, FOUND if expected else 0)

    @unittest.skipUnless(EXAMPLES.exists(), f"the documents are not at {EXAMPLES}")
    def test_the_guide_shows_what_is_said_of_the_documents_program(self):
        shown = re.search(r"```text\n(.*?)```", (SOURCE / "docs/checker.md").read_text(), re.S)[1].splitlines()
        program = self.build(EXAMPLES / "cross_entropy_loss_grad.cpp", compiler=(CXX, "-std=c++11"))
        said = self.descend("--check", "--", program).stderr.splitlines()
        self.assertEqual(*([line for line in lines if line.startswith("==")] for lines in (shown, said)))
        without_places = [line for line in shown if "…" not in line and "#" not in line]
        self.assertEqual([line for line in without_places if line not in said], [])

    @unittest.skipUnless(EXAMPLES.exists(), f"the documents are not at {EXAMPLES}")
    def test_nothing_is_wrong_with_the_documents_program_whose_data_are_what_its_tensors_say(self):
        def converted(data):
            bits = (struct.unpack("<I", struct.pack("<f", float(each)))[0] for each in data[2].split(","))
            return f"std::vector<uint16_t> {data[1]} = {{{', '.join(str(each + 0x8000 >> 16) for each in bits)}}}"

        text = (EXAMPLES / "cross_entropy_loss_grad.cpp").read_text(errors="replace")
        text, tensors = re.subn(r"std::vector<float> ((?:gradLoss|logProb|xGradOut)HostData) = {(.*)}", converted, text)
        text = text.replace("std::vector<float> targetHostData", "std::vector<int64_t> targetHostData")
        text = text.replace("std::vector<float> resultData", "std::vector<uint16_t> resultData")
        text = text.replace("i, resultData[i]", "i, 0. + resultData[i]")
        self.assertEqual((tensors, text.count("std::vector<float>")), (3, 1))
        source = self.folder / "corrected.cpp"
        source.write_text(text)
        self.assertEqual(self.check(self.build(source, compiler=(CXX, "-std=c++11"))), (0, []))

    def test_every_finding_is_in_the_guide_under_its_title(self):
        guide = (SOURCE / "docs/checker.md").read_text()
        sections = re.findall(r"(?m)^### (DSC-\d+)\n\n\*\*(.*)\*\*\n\n- why: (.*)\.\n- do: (.*)\.\n", guide)
        self.assertEqual(sections, [(identity, *texts) for identity, texts in table().items()])
        overview = re.findall(r"(?m)^\| \[(DSC-\d+)\]\(#dsc-\d+\) \| (.*) \|$", guide)
        self.assertEqual(overview, [(identity, texts[0]) for identity, texts in table().items()])
        known = {identity.lower() for identity in table()}
        self.assertEqual(set(re.findall(r"\]\(#(dsc-\d+)\)", guide)), known)
        for section in guide.split("\n### ")[1:]:
            self.assertEqual(section.count("```") % 2, 0)
            self.assertIn("```", section, "no example")
        self.assertEqual({f"DSC-{path.stem[4:7]}" for path in PROGRAMS.glob("dsc_*.c")}, set(table()))


class Trace(Built):
    def events(self, program, *options):
        file = self.folder / "trace.json"
        ended = self.descend("--trace", file, *options, "--", program)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return json.loads(file.read_text())["traceEvents"], ended.stderr

    def test_rows_slices_and_table(self):
        events, text = self.events(self.build(PROGRAMS / "dsc_201.c", "-DFIXED"))
        rows = {each["tid"]: each["args"]["name"] for each in events if each["ph"] == "M" and each["pid"] == 1}
        self.assertEqual(len([name for name in rows.values() if name.startswith("stream ")]), 2)
        slices = [each for each in events if each["ph"] == "X"]
        runs = [each for each in slices if each["name"] == "aclnnElu" and each["pid"] == 1]
        self.assertEqual(len(runs), 2)
        first, second = sorted(runs, key=lambda each: each["ts"])
        self.assertLessEqual(first["ts"] + first["dur"], second["ts"])
        self.assertEqual(first["args"]["self"], "FLOAT[16]")
        self.assertEqual(first["args"]["bytes"], 128)
        self.assertIn("GB/s", first["args"])
        self.assertIn("aclrtStreamWaitEvent", [each["name"] for each in slices if each["pid"] == 1])
        for name in ("aclrtSynchronizeStream", "aclnnEluGetWorkspaceSize", "aclrtMemcpy"):
            self.assertIn(name, [each["name"] for each in slices if each["pid"] == 0])
        self.assertRegex(text, r"(?m)^aclnnElu +2 +[\d.]+ +[\d.]+ +[\d.]+ +\d+ %$")

    def arguments(self, name, program):
        """Those of the operator's only slice."""
        [only] = [each["args"] for each in self.events(program)[0] if each["name"] == name and each["pid"] == 1]
        return only

    def test_bytes_are_those_of_the_elements_that_are_read_or_written(self):
        loss = self.arguments("aclnnNLLLoss", self.build(PROGRAMS / "dsc_401.c", "-DFIXED"))
        self.assertEqual((loss["self"], loss["target"], loss["weight"]), ("FLOAT[2,3]", "INT64[2]", "FLOAT[3]"))
        self.assertEqual(loss["bytes"], 2 * (8 + 4 + 4) + 2 * 4)  # two positions, the loss and the sum of the weights
        elu = self.arguments("aclnnElu", self.build(PROGRAMS / "repeated.c"))
        self.assertEqual((elu["self"], elu["bytes"]), ("FLOAT[16] with strides [0]", 4 + 16 * 4))

    def test_with_json_standard_error_is_lines_of_json(self):
        program = self.build(PROGRAMS / "dsc_107.c")
        ended = self.descend("--check", "--json", "--trace", self.folder / "trace.json", "--", program)
        finding, table = sorted(map(json.loads, ended.stderr.splitlines()), key=lambda each: "trace" in each)
        self.assertEqual(finding["id"], "DSC-107")
        self.assertGreater(table["copy_gb_per_s"], 0)
        row = next(each for each in table["trace"] if each["function"] == "aclnnElu")
        self.assertEqual(set(row), {"function", "calls", "total_us", "mean_us", "bytes", "gb_per_s", "share"})

    def test_measuring_the_device_is_in_no_row(self):
        events, text = self.events(self.build(PROGRAMS / "repeated.c"), "--json")
        slices = [each for each in events if each["ph"] == "X" and each["pid"] == 0]
        calls = sorted((each["ts"], each["ts"] + each["dur"]) for each in slices)
        gaps = [begin - max(end for _, end in calls[:i]) for i, (begin, _) in enumerate(calls) if i > 0]
        copies = 5 * 2 * (64 << 20)  # bytes that src/device/bandwidth.cc reads and writes, at its best speed or slower
        self.assertGreaterEqual(max(gaps), copies / json.loads(text)["copy_gb_per_s"] / 1e3)

    def test_together_with_the_checker_and_many_threads(self):
        events, text = self.events(self.build(PROGRAMS / "threads.c"), "--check")
        self.assertEqual(len([each for each in events if each["name"] == "aclnnElu" and each["pid"] == 1]), 8 * 20 * 2)
        self.assertIn("nothing found", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
