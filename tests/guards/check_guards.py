#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_guards.py: that layers.py, sizes.py, links.py and blocks.py find what they are for, in small trees made for it."""

import pathlib
import tempfile
import unittest

import blocks
import layers
import links
import sizes

PAGE = """# Architecture
## Rooms
| room | what is there |
|---|---|
| `low` | |
| `high` | |

| folder | |
|---|---|
| `tools` | |
## More
"""
FUNCTIONS = '''#include "a.hpp"
namespace n {
extern "C" void first(int);
constexpr int table[]{1, 2};
const std::map<int, int> pairs = {{1, 2}};
template <class T>
    requires std::integral<T>
class Class : public Base<T> {
public:
    Class(int a, int b = 1) : a_(a == b), b_{b}, c_(b) {
        a_ = 1'000'000;  // it's {
    }
    int operator()(int i) const { return i; }
    bool operator==(const Class& o) const { return a_ == o.a_; }
    Class& operator=(const Class&) = default;
    std::array<int, f()> values_{};
};
auto lambda = [](int x) {
    return x;
};
[[nodiscard]] inline auto trailing(const char* text = "{{") -> std::vector<int> {
    return {1, 2, text[0] == '{'};
}
}  // namespace n
'''


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("docs/architecture.md", PAGE)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Layers(Tree):
    def setUp(self):
        super().setUp()
        self.write("include/stretto/low/a.hpp", "#include <vector>\n")
        self.write("include/stretto/high/b.hpp", '#include "stretto/low/a.hpp"\n')

    def expect(self, *patterns):
        found = layers.violations(self.root)
        self.assertEqual(len(found), len(patterns), found)
        for line, pattern in zip(found, patterns):
            self.assertRegex(line, pattern)

    def test_downwards_and_within_a_room(self):
        self.write("src/high/b.cpp", '#include "stretto/high/b.hpp"\n#include "../low/hidden.hpp"\n')
        self.write("src/low/hidden.hpp", "")
        self.expect()

    def test_upwards(self):
        self.write("src/low/a.cpp", '\n#include "stretto/high/b.hpp"\n')
        self.expect("src/low/a.cpp:2: .* high, which comes after low")

    def test_upwards_by_a_relative_path(self):
        self.write("src/high/hidden.hpp", "")
        self.write("src/low/a.cpp", '# include "../high/hidden.hpp"\n')
        self.expect("src/low/a.cpp:1: .* high")

    def test_what_gathers_rooms(self):
        self.write("include/stretto/all.hpp", '#include "stretto/high/b.hpp"\n')
        self.expect()
        self.write("src/high/b.cpp", "#include <stretto/all.hpp>\n")
        self.expect("src/high/b.cpp:1: .* above all rooms")

    def test_rooms_and_table_agree(self):
        self.write("src/attic/c.cpp", "")
        self.expect("lacks attic")
        self.write("docs/architecture.md", PAGE.replace("`high` | |", "`high` | |\n| `attic` | |\n| `roof` | |"))
        self.expect("no room roof")
        self.write("docs/architecture.md", "# Architecture\n")
        self.expect("no table")


class Sizes(Tree):
    def test_functions(self):
        found = [(first, last, sizes.name_of(head)) for first, last, head in sizes.functions(FUNCTIONS)]
        self.assertEqual(found, [(10, 12, "Class"), (13, 13, "operator"), (14, 14, "operator"),
                                 (18, 20, "auto lambda = [](int x)"), (21, 23, "trailing")])

    def expect(self, *patterns):
        found = sizes.violations(self.root)
        self.assertEqual(len(found), len(patterns), found)
        for line, pattern in zip(found, patterns):
            self.assertRegex(line, pattern)

    def test_files(self):
        self.write("src/low/a.cpp", "int a;\n" * 400)
        self.expect()
        self.write("src/low/a.cpp", "int a;\n" * 401)
        self.expect("src/low/a.cpp: 401 lines")
        self.write("src/low/a.cpp", "// Long: a table.\n" + "int a;\n" * 401)
        self.expect()
        self.write("src/low/a.cpp", "// Long:\n" + "int a;\n" * 401)
        self.expect("402 lines")

    def test_long_functions(self):
        def body(before, inside):
            return f"{before}\nvoid f() {{\n{inside}\n" + "    g();\n" * 77 + "}\n"
        self.write("src/low/a.cpp", body("", "g();"))
        self.expect()
        self.write("src/low/a.cpp", body("", "g();\ng();"))
        self.expect("src/low/a.cpp:2: f: 81 lines")
        self.write("src/low/a.cpp", body("// Long: one loop.\n// It is the paper.", "g();\ng();"))
        self.expect()
        self.write("src/low/a.cpp", body("// Long: another.\nint x;", "g();\ng();"))
        self.expect("f: 81 lines")
        self.write("src/low/a.cpp", body("", "g();\n// Long: one loop."))
        self.expect()


class Links(Tree):
    def test_files_and_headings(self):
        self.write("docs/a.md", "# What's `new`, here?\n[up](../b.md#one-two) [here](#whats-new-here) `[no](x.md)`\n")
        self.write("b.md", "## One *two*\n[a](docs/a.md) [web](https://example.org)\n\n    [code](x.md)\n")
        self.assertEqual(links.violations(self.root), [])
        self.write("b.md", "## One\n[a](docs/c.md)\n")
        self.assertEqual(links.violations(self.root), [
            "b.md: docs/c.md: there is no such file", "docs/a.md: ../b.md#one-two: there is no such heading"])


class Blocks(Tree):
    def test_lines_frames_and_indentation(self):
        self.write("README.md", "# Title\n```cpp\n#include <a>\nint a;\n```\n```sh\nint b;\n```\n")
        self.write("docs/a/b.md", "- item\n\n  ```cpp\n  int c;\n    d();\n  ```\n<!-- frame: complex -->\n```cpp\nint e;\n```\n")
        found = list(blocks.blocks(self.root))
        self.assertEqual(found, [("README.md", 3, "program", "#include <a>\nint a;\n"),
                                 ("docs/a/b.md", 4, "program", "int c;\n  d();\n"), ("docs/a/b.md", 9, "complex", "int e;\n")])
        source = blocks.source(found)
        self.assertEqual(source.count("#include <a>\n"), 1)
        self.assertIn('#line 3 "README.md"\n\nint a;\n', source)


if __name__ == "__main__":
    unittest.main()
