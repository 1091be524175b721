# SPDX-License-Identifier: MIT
"""What the tests of the installed prefix share: where things are, what the headers declare, running commands."""
import os
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SHARED = SOURCE.parent / "shared"  # the contract and the documents; not part of the repository
EMULATED_CARD = pathlib.Path(os.environ.get("DESCEND_BUILD", "")) / "test_plugins/libdescend_emulated.so"
CC, CXX = os.environ.get("CC", "gcc"), os.environ.get("CXX", "g++")

LIBRARY_OF_FOLDER = {"acl": "libascendcl.so", "aclnn": "libnnopbase.so", "aclnnop": "libopapi.so"}
LINK_NAMES = {
    "libascendcl.so": ["libacl_rt.so"],
    "libnnopbase.so": [],
    "libopapi.so": ["libopapi_nn.so", "libopapi_cv.so", "libopapi_math.so", "libaclnn_ops_infer.so",
                    "libaclnn_ops_train.so", "libaclnn_math.so"],
}


def prefix():
    return pathlib.Path(os.environ.get("DESCEND_PREFIX") or SOURCE / "build" / "prefix").resolve()


def headers():
    """Every installed header as a program names it: "acl/acl.h"."""
    include = prefix() / "include"
    return sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))


def declarations(header):
    """The functions a header declares, as {name: result type}."""
    text = (prefix() / "include" / header).read_text()
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^#[^\n]*", "", text, flags=re.S | re.M)
    found = re.findall(r"ACL_FUNC_VISIBILITY\s+([\w\s]+?[\s*]+)(\w+)\s*\(", text)
    return {name: " ".join(result.split()) for result, name in found}


def clean_environment(**more):
    """Our environment without what would lead a compiler, the loader or CMake to another installation."""
    leads = ("ASCEND", "DESCEND", "CMAKE_", "PKG_CONFIG")
    names = {"LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LD_PRELOAD"}
    kept = {name: value for name, value in os.environ.items() if name not in names and not name.startswith(leads)}
    return {**kept, "DESCEND_DEVICE": os.environ.get("DESCEND_DEVICE", "cpu"), **more}


def emulated_card():
    """What makes a program use the emulated card."""
    return {"DESCEND_DEVICE": "emulated", "DESCEND_BACKEND_PATH": str(EMULATED_CARD.parent)}


def card_program(folder):
    """tests/cuda/card.c, with the installed headers and libraries."""
    program = pathlib.Path(folder) / "card"
    run(CC, "-std=gnu99", "-Wall", "-Werror", SOURCE / "tests/cuda/card.c", f"-I{SOURCE}", f"-I{prefix()}/include",
        f"-L{prefix()}/lib64", "-lopapi", "-lnnopbase", "-lascendcl", f"-Wl,-rpath,{prefix()}/lib64", "-o", program)
    return program


def run(*command, **options):
    """Runs a command to its end and returns what it printed; a status other than 0 is a failed test."""
    options = {"env": clean_environment(), "timeout": 300, **options}
    command = [str(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\nended with {done.returncode} and printed\n{done.stdout}")
    return done.stdout
