# SPDX-License-Identifier: MIT
"""The C++ tests under the checker: everything that it reports of them is something that a test does on purpose."""
import json
import os
import pathlib
import re
import subprocess
import unittest

from installed import clean_environment

# Not under the checker: what looks at the variables and the memory that the checker itself uses, formulas that make no
# call, and tests that give operators gigabytes of the host's addresses, or look at a result there: DSC-103 and DSC-109.
LEFT_OUT = ["EnvironmentTest.*", "MemoryOfCalls.*", "math.*", "*2_to_the_31*"]
# Findings that are right: (ids, function, tests, why the tests do it), the first three as patterns.
DELIBERATE = [
    ("DSC-10[145]", "aclrt(Mem|Free|GetOverflow).*", r"Runtime\w+\..*", "what is no range of memory is refused"),
    ("DSC-102", "aclrtMem.*", "RuntimeMemory.device_memory_is_aligned_and_padded", "touches the padding"),
    ("DSC-106", "aclnn.*", r".*(overlap|first|in_the_place_of_|workspace_that_is_missing).*", "outputs over inputs"),
    ("DSC-108", "aclrtFree(Host)?", r"(Executor|ThreadsOfOperators)\..*|RuntimeMemory.memory_freed_while_.*",
     "memory that is freed early is given back late"),
    ("DSC-111", "aclrtMemcpy.*", "RuntimeCopy.bytes_arrive_whatever_the_kind_says", "every kind with every address"),
    ("DSC-202", "aclrtMemcpy", "RuntimeCopy.with_pinned_memory_the_copy_is_queued", "looks whether the stream is held"),
    ("DSC-30[13]", ".*", r"(Executor|ThreadsOfOperators)\..*", "executors that are gone are recognised"),
    ("DSC-30[56]", "aclFinalize", r"Runtime\w+\..*", "the end of the process takes down what is left"),
    ("DSC-401", "aclnn.*", r"(NLLLoss|CrossEntropyLoss)Operators\..*", "targets that are no class count for nothing"),
    ("DSC-402", "aclnn.*", r"(each/)?\w+LossOperators(OfLayout)?\..*", "the mean of nothing is NaN"),
    ("DSC-403", "aclnn.*", r"\w+LossOperators\..*(total_of_0|nothing).*", "0 and infinite weights"),
    ("DSC-403", "aclnn.*", r"CrossEntropyLossOperators\..*numbers_of_all_sizes", "numbers whose exponential is infinite"),
    ("DSC-50[12]", "aclnn.*", r"SpecOfEveryOperator\..*|.*_for_one_product", "the products' rules"),
    ("DSC-50[34]", "aclnn.*", r"CrossEntropyLossOperators\..*|SpecOfEveryOperator\..*", "smoothing and z-loss"),
    ("DSC-50[67]", "aclnn.*", r"UpsampleNearest3dOperators\..*", "any scales, and empty volumes"),
]


def explains(row, test, finding):
    return all(re.fullmatch(pattern, text) for pattern, text in zip(row, (finding["id"], finding["function"], test)))


class Suite(unittest.TestCase):
    maxDiff = None

    def test_every_finding_is_something_that_a_test_does_on_purpose(self):
        program = pathlib.Path(os.environ.get("DESCEND_BUILD", "")) / "descend_tests"
        environment = clean_environment(DESCEND_CHECK="1", DESCEND_CHECK_JSON="/dev/stderr")
        # One pipe for both, so that each finding comes after the name of its test.
        ended = subprocess.run([program, "--gtest_filter=-" + ":".join(LEFT_OUT)], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=600, env=environment)
        test, found, unexplained = "", set(), []
        for line in ended.stdout.splitlines():
            if begins := re.match(r"\[ RUN      \] (\S+)", line):
                test = begins[1]
            elif line.startswith('{"id":"DSC-'):
                finding = json.loads(line)
                rows = [i for i, row in enumerate(DELIBERATE) if explains(row, test, finding)]
                found.update(rows)
                if not rows or (finding["id"] == "DSC-403" and not re.search("nan|inf", finding["text"])):
                    unexplained.append((test, finding["id"], finding["function"], finding["argument"], finding["text"]))
        self.assertEqual(unexplained, [])
        self.assertIn("[  PASSED  ]", ended.stdout)
        self.assertNotIn("[  FAILED  ]", ended.stdout, ended.stdout[-4000:])
        self.assertEqual([row for i, row in enumerate(DELIBERATE) if i not in found], [], "nothing is explained by these")


if __name__ == "__main__":
    unittest.main(verbosity=2)
