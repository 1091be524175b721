#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where our kernels spend their time in one case: functions of libopapi.so by their share of perf's samples, and the instructions of the
loops that have most of them.  What bench/reasons.toml says was read off this.

  bench/profile.py build/bench/descend_bench --filter 'aclnnElu FLOAT 16777216'
"""
import collections
import re
import subprocess
import sys
import tempfile

VECTOR, LOAD, STORE = r"\bv\d+\.|\b[bhsdq]\d+\b", r"ld|prf", r"st"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout


def sample(command, file):
    """({address in the library's file: samples}, {function: samples}, the library)"""
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", file, "--", *command], stdout=subprocess.DEVNULL, check=True)
    text = output("perf", "script", "-i", file, "-F", "ip,sym,dso", "--show-mmap-events")
    start, offset, library = re.search(r"\[0x(\w+)\(0x\w+\) @ (\w+) .*r-xp (\S+libopapi\S*)", text).groups()
    segments = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"LOAD\s+0x(\w+) 0x(\w+)", output("readelf", "-lW", library))]
    addresses, functions = collections.Counter(), collections.Counter()
    for ip, function in re.findall(r"(?m)^\s*([0-9a-f]+) (.*) \(\S*libopapi\S*\)$", text):
        place = int(ip, 16) - int(start, 16) + int(offset, 0)
        segment = max(each for each in segments if each[0] <= place)
        addresses[place - segment[0] + segment[1]] += 1
        functions[function] += 1
    return addresses, functions, library


def loops(library, around):
    """The instructions of each loop within 8 KiB of an address: from a branch's target to the branch."""
    text = output("objdump", "-d", "--no-show-raw-insn", f"--start-address={around - 8192}", f"--stop-address={around + 8192}", library)
    code = [(int(address, 16), rest) for address, rest in re.findall(r"(?m)^\s+([0-9a-f]+):\s+(.*)$", text)]
    for address, rest in code:
        branch = re.match(r"(?:b|b\.\w+|j\w+|cbn?z|tbn?z)\s+.*?\b([0-9a-f]{4,})\b", rest)
        if branch and code[0][0] <= int(branch[1], 16) <= address:
            yield [each for each in code if int(branch[1], 16) <= each[0] <= address]


def kinds(loop):
    counts = collections.Counter()
    for _, text in loop:
        name = text.split()[0]
        if re.match(LOAD, name):
            counts["loads"] += 1
        elif re.match(STORE, name):
            counts["stores"] += 1
        elif re.search(VECTOR, text[len(name):]):
            counts["vector"] += 1
        else:
            counts["other"] += 1
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common())


def main():
    with tempfile.NamedTemporaryFile() as file:
        addresses, functions, library = sample(sys.argv[1:], file.name)
    total = sum(addresses.values())
    for function, count in functions.most_common(4):
        print(f"{100 * count / total:3.0f} % {function[:150]}")
    hot = addresses.most_common(1)[0][0]
    shares = [(sum(addresses[address] for address, _ in loop) / total, loop) for loop in loops(library, hot)]
    for share, loop in sorted(shares, key=lambda each: (-round(each[0], 2), len(each[1])))[:4]:
        if share >= 0.1:
            print(f"{100 * share:3.0f} % in a loop of {len(loop)} instructions ({kinds(loop)}) at {loop[0][0]:x}")


if __name__ == "__main__":
    main()
