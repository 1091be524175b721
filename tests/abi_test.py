#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the installed libraries export and need: exactly the functions of the headers, found under every name."""
import ctypes
import os
import re
import unittest

from installed import LIBRARY_OF_FOLDER, LINK_NAMES, declarations, headers, prefix, run

# Probed by some clients with dlsym, and in no header.
HELPERS = {"InitHugeMemThreadLocal", "UnInitHugeMemThreadLocal", "ReleaseHugeMem"}


def exported(library, *options):
    lines = run("nm", "-D", "--defined-only", *options, prefix() / "lib64" / library).splitlines()
    return {line.split(" ", 2)[2].split("@@")[0] for line in lines}


def dynamic(library, tag):
    """The values of one kind of entry in the dynamic section: NEEDED, SONAME, RPATH, RUNPATH."""
    text = run("readelf", "-dW", prefix() / "lib64" / library)
    return re.findall(rf"\({tag}\).*\[(.*)\]", text)


def declared(library):
    folders = [folder for folder, name in LIBRARY_OF_FOLDER.items() if name == library]
    return {name for header in headers() if header.split("/")[0] in folders for name in declarations(header)}


class Abi(unittest.TestCase):
    maxDiff = None

    def test_each_library_exports_exactly_its_headers(self):
        for library in LIBRARY_OF_FOLDER.values():
            with self.subTest(library=library):
                self.assertTrue(declared(library))
                helpers = HELPERS if library == "libnnopbase.so" else set()
                self.assertEqual(exported(library), declared(library) | helpers)

    def test_every_header_belongs_to_a_library(self):
        self.assertEqual({header.split("/")[0] for header in headers()}, set(LIBRARY_OF_FOLDER))

    def test_link_names_export_the_same(self):
        for library, names in LINK_NAMES.items():
            for name in names:
                with self.subTest(name=name):
                    self.assertEqual(exported(name), exported(library))
                    self.assertEqual((prefix() / "lib64" / name).resolve().parent, prefix() / "lib64")

    def test_the_engine_exports_only_its_own_names(self):
        names = exported("libdescend.so", "-C") - {"DESCEND_PRIVATE"}
        self.assertTrue(names)
        kinds = r"(?:vtable for |VTT for |typeinfo for |typeinfo name for |guard variable for |(?:non-)?virtual thunk to )?"
        foreign = {name for name in names if not re.match(kinds + "descend::", name)}
        self.assertEqual(foreign, set())

    def test_libraries_are_called_what_they_are_linked_as(self):
        for library in (*LIBRARY_OF_FOLDER.values(), "libdescend.so"):
            self.assertEqual(dynamic(library, "SONAME"), [library])

    def test_operators_bring_the_objects_and_the_runtime(self):
        for name in ("libopapi.so", *LINK_NAMES["libopapi.so"]):
            self.assertIn("libnnopbase.so", dynamic(name, "NEEDED"), name)
        # dlsym on a handle of libopapi.so finds aclrt functions through this one.
        self.assertIn("libascendcl.so", dynamic("libnnopbase.so", "NEEDED"))

    def test_libraries_are_searched_only_next_to_each_other(self):
        for path in sorted((prefix() / "lib64").glob("*.so")):
            with self.subTest(library=path.name):
                self.assertEqual(dynamic(path.name, "RPATH"), [])
                self.assertLessEqual(set(dynamic(path.name, "RUNPATH")), {"$ORIGIN"})


class Unsupported(unittest.TestCase):
    """What is declared only so that programs link says so when it is called."""

    def functions(self):
        for header in ("acl/acl_op.h", "acl/acl_op_compiler.h", "acl/acl_mdl.h", "acl/acl_base.h"):
            for name, result in declarations(header).items():
                if header != "acl/acl_base.h" or "TensorDesc" in name or name.startswith("aclSetTensor"):
                    yield name, result

    def test_every_function_answers_and_names_itself(self):
        os.environ["ASCEND_GLOBAL_LOG_LEVEL"] = "4"  # eighty failures that are wanted need no log
        library = ctypes.CDLL(str(prefix() / "lib64" / "libascendcl.so"))
        library.aclGetRecentErrMsg.restype = ctypes.c_char_p
        answers = {"aclError": (ctypes.c_int, 200001), "size_t": (ctypes.c_size_t, 0), "int64_t": (ctypes.c_int64, 0),
                   "aclDataType": (ctypes.c_int, -1), "aclFormat": (ctypes.c_int, -1), "void": (None, None)}
        count = 0
        for name, result in self.functions():
            with self.subTest(function=name):
                function = getattr(library, name)
                function.restype, expected = answers.get(result, (ctypes.c_void_p, None))
                library.aclGetRecentErrMsg()
                self.assertEqual(function(*[None] * 12), expected)
                text = library.aclGetRecentErrMsg()
                if result == "void" and "Destroy" in name:
                    self.assertIsNone(text)  # destroying null is nothing to complain about
                else:
                    self.assertIn(f"{name}: ", text.decode())
                    self.assertIn("not part of this implementation", text.decode())
                count += 1
        self.assertGreater(count, 80)


if __name__ == "__main__":
    unittest.main(verbosity=2)
