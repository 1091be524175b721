#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The installed headers: each compiles alone in both languages, and they say what the contract says."""
import pathlib
import re
import tempfile
import unittest

from installed import CC, CXX, SHARED, headers, prefix, run

CONTRACT = SHARED / "contract" / "runtime.md"
LANGUAGES = {"c99": (CC, ".c"), "c++11": (CXX, ".cpp"), "c++20": (CXX, ".cpp")}
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]


def compile_text(text, standard, *folders):
    compiler, suffix = LANGUAGES[standard]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / ("program" + suffix)
        source.write_text(text)
        run(compiler, f"-std={standard}", *STRICT, *[f"-I{each}" for each in folders], source)


class Headers(unittest.TestCase):
    def test_all_of_the_prefix_are_there(self):
        expected = {"acl/acl.h", "acl/acl_base.h", "acl/acl_rt.h", "acl/acl_op.h", "acl/acl_op_compiler.h",
                    "acl/acl_mdl.h", "acl/error_codes/rt_error_codes.h", "acl/error_codes/ge_error_codes.h",
                    "aclnn/acl_meta.h", "aclnn/aclnn_base.h", "aclnnop/aclnn_elu.h", "aclnnop/aclnn_elu_backward.h"}
        self.assertLessEqual(expected, set(headers()))

    def test_each_compiles_alone(self):
        for header in headers():
            for standard in LANGUAGES:
                with self.subTest(header=header, standard=standard):
                    # Twice, for the include guard.
                    compile_text(f'#include "{header}"\n' * 2 + "int program_is_not_empty;\n", standard,
                                 prefix() / "include")

    def test_each_is_found_without_its_folder(self):
        include = prefix() / "include"
        for header in headers():
            folder, name = header.split("/")[0], header.split("/")[-1]
            if folder in ("aclnn", "aclnnop"):
                with self.subTest(header=header):
                    compile_text(f'#include "{name}"\nint program_is_not_empty;\n', "c++11", include,
                                 include / "aclnn", include / "aclnnop")

    def test_two_includes_are_enough_for_an_operator(self):
        for header in headers():
            if header.startswith("aclnnop/"):
                with self.subTest(header=header):
                    compile_text(f'#include "acl/acl.h"\n#include "{header}"\n'
                                 "void* all[] = {(void*)aclInit, (void*)aclrtMalloc, (void*)aclCreateTensor,\n"
                                 "               (void*)aclCreateScalar, (void*)aclSetAclOpExecutorRepeatable};\n"
                                 "aclnnStatus status = ACLNN_SUCCESS; aclFormat format = ACL_FORMAT_ND;\n", "c++11",
                                 prefix() / "include")

    def test_level2_holds_the_same_operators(self):
        folder = prefix() / "include" / "aclnnop"
        own = {path.name: path.read_bytes() for path in folder.glob("*.h")}
        level2 = {path.name: path.read_bytes() for path in (folder / "level2").glob("*.h")}
        self.assertTrue(own)
        self.assertEqual(own, level2)

    def test_no_header_knows_dim3(self):
        for header in headers():
            self.assertNotRegex((prefix() / "include" / header).read_text(), r"\bdim3\b", header)

    def test_log_macro_takes_a_text_alone(self):
        compile_text('#include "acl/acl.h"\nvoid f(void);\n'
                     'void f(void) { ACL_APP_LOG(ACL_INFO, "ready"); ACL_APP_LOG(ACL_ERROR, "%d of %d", 1, 2); }\n',
                     "c99", prefix() / "include")


@unittest.skipUnless(CONTRACT.exists(), f"the contract is not at {CONTRACT}")
class Contract(unittest.TestCase):
    """Runs where the contract lies next to the repository."""

    def setUp(self):
        text = CONTRACT.read_text()
        self.groups = {name: [tuple(entry.strip(" .").split("=")) for entry in entries.split(";")] for name, entries in
                       re.findall(r"^- \*\*(.+?)\*\*(?: \(`[^`]+`\))?: (.*)$", text, re.M)}
        self.functions = re.findall(r"^\| `([^`]+)` \| (?:MUST|SHOULD) \|", text, re.M)

    def test_values_are_the_contracts(self):
        self.assertEqual(len(self.groups), 20)
        asserts = [f'static_assert({name} == {value}, "{name}");' for group in self.groups.values()
                   for name, value in group]
        self.assertGreater(len(asserts), 300)
        compile_text('#include "acl/acl.h"\n' + "\n".join(asserts) + "\n", "c++11", prefix() / "include")

    def test_enumerators_have_the_contracts_types(self):
        asserts = [f"static_assert(std::is_same<decltype({name}), {group}>::value, \"{name}\");"
                   for group, entries in self.groups.items() if group.startswith("acl") for name, _ in entries]
        compile_text('#include <type_traits>\n#include "acl/acl.h"\n' + "\n".join(asserts) + "\n", "c++11",
                     prefix() / "include")

    def test_codes_are_constants_and_macros_as_the_contract_says(self):
        constants = "".join(f"#ifdef {name}\n#error {name}\n#endif\n" for name, _ in self.groups["ACL codes"])
        macros = "".join(f"#ifndef {name}\n#error {name}\n#endif\n"
                         for group in ("runtime codes", "flags") for name, _ in self.groups[group])
        compile_text('#include "acl/acl.h"\n' + constants + macros, "c++11", prefix() / "include")

    def test_functions_have_the_contracts_prototypes(self):
        self.assertGreater(len(self.functions), 100)
        asserts = []
        for function in self.functions:
            result, name, parameters = re.fullmatch(r"(.+?)(\w+)(\(.*\))", function).groups()
            asserts.append(f"static_assert(std::is_same<decltype({name}), {result} {parameters}>::value, \"{name}\");")
        compile_text('#include <type_traits>\n#include "acl/acl.h"\n#include "aclnn/aclnn_base.h"\n' +
                     "\n".join(asserts) + "\n", "c++11", prefix() / "include")


if __name__ == "__main__":
    unittest.main(verbosity=2)
