#!/usr/bin/env python3
"""Commands that pages show work: each command and option is in divvy's help, marked blocks are run on a
simulated GPU and print what the page says, and the page of commands lists all of them."""
import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

from page_blocks import Block, blocks_of, faults_of, indented, missing, run_page

ROOT = pathlib.Path(os.environ["DIVVY_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["DIVVY_BUILD_DIR"]).resolve()
DIVVY = BUILD / "bin" / "divvy"
PLUGIN = DIVVY.with_name("kubectl-divvy")
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages of which every block of commands is run, or says why it is not: all but records of what was.
RECORDS = (ROOT / "docs" / "progress.md", ROOT / "docs" / "development" / "decisions")
MARKED = [page for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md")
          if not any(page.is_relative_to(record) for record in RECORDS)]
# Its tables name former commands, each beside the present one.
RENAMED = ROOT / "docs" / "reference" / "public-names.md"
COMMANDS = ROOT / "docs" / "reference" / "commands.md"

# From here on another program's words, or a shell's.
OTHERS = {"--", "--podman", "--docker", "|", "||", "&&", "&", ";", ">", ">>", "2>", "2>&1", "<"}
LINE = re.compile(r"(?:^|[(;|&$]\s*)((?:[A-Z_]+=\S+ )*(?:sudo )?(?:kubectl )?divvy\s.*)")
OPTION = re.compile(r"^(--?[a-zA-Z][a-z-]*)(?:[=\[,.…].*)?$")


@functools.lru_cache(maxsize=None)
def help_of(path, program=DIVVY):
    """The output of `divvy PATH --help`; None: there is no such command."""
    done = subprocess.run([program, *path, "--help"], capture_output=True, text=True, check=False,
                          env={"PATH": os.environ["PATH"]})
    return done.stdout if done.returncode == 0 else None


@functools.lru_cache(maxsize=None)
def options_of(path, program=DIVVY):
    text = help_of(path, program)
    return set(re.findall(r"(?<![\w-])(--?[a-zA-Z][a-z-]*)", text)) | {"--help", "-h"}


@functools.lru_cache(maxsize=None)
def commands_of(path):
    """Names of its commands, by the help's own list."""
    found, listed = set(), False
    for line in help_of(path).splitlines():
        if re.match(r"^(Subcommands|Commands|SUBCOMMANDS)?:?$", line.strip()) and line.strip():
            listed = True
        elif listed and (match := re.match(r"^  ([a-z][a-z-]*)\s", line)):
            found.add(match.group(1))
        elif line and not line.startswith(" "):
            listed = line.rstrip().lower() in ("subcommands:", "commands:")
    return found


def words_of(text):
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote that a line of prose leaves open
        return text.split()


def fault_of(text):
    """What of a command line is not divvy's; None: nothing."""
    words = words_of(text)
    program = DIVVY
    while words and words[0] != "divvy":
        program = PLUGIN if words[0] == "kubectl" else DIVVY
        words = words[1:]
    # Options may stand before the command there: they are looked for in its help.
    if program == PLUGIN:
        at = next((i for i, word in enumerate(words) if word in commands_of(())), 0)
        words = [*words[:1], *words[at:at + 1], *words[1:at], *words[at + 1:]] if at else words
    path = ()
    for word in words[1:]:
        if word in OTHERS or word.startswith(("#", "(", "$(")):
            break
        if word in commands_of(path):
            path += (word,)
            continue
        if not path and re.fullmatch(r"[a-z][a-z-]*", word):
            return f"there is no command {word}"
        # `divvy run ... PROGRAM --its-own`: from the first word on that is no option of ours.
        option = OPTION.match(word)
        if option is None:
            continue
        if option.group(1) not in options_of(path, program):
            return f"{'kubectl ' if program == PLUGIN else ''}divvy {' '.join(path)} has no {option.group(1)}"
    return None


def code_in(text):
    """Lines of blocks, and inline code, each with its line's number."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, line.strip()
        else:
            for inline in re.findall(r"`([^`]+)`", line):
                yield number, inline


class Pages(unittest.TestCase):
    def test_command_lines_are_such_as_divvy_takes(self):
        seen, faults = 0, []
        for page in PAGES:
            text = page.read_text()
            for number, code in code_in(text):
                if page == RENAMED and f"| `{code}` | `divvy " in text:
                    continue
                for line in LINE.findall(code):
                    seen += 1
                    fault = fault_of(line.replace("\\", " "))
                    if fault:
                        faults.append(f"{page.relative_to(ROOT)}:{number}: {fault}: {line.strip()}")
        self.assertGreater(seen, 100, "pages show command lines")
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_what_is_not_divvys_is_found(self):
        self.assertIsNone(fault_of("divvy run --memory 4Gi -- python3 --version"))
        self.assertIn("no command lst", fault_of("divvy lst"))
        self.assertIn("has no --memroy", fault_of("divvy run --memroy 4Gi -- sh"))
        self.assertIsNone(fault_of("kubectl divvy --context prod gpus --cluster east -A"))
        self.assertIsNone(fault_of("divvy gpus --cluster"))
        self.assertIn("divvy gpus has no -A", fault_of("divvy gpus -A"))
        self.assertIn("kubectl divvy plan has no -A", fault_of("kubectl divvy -A plan -f x"))
        self.assertIn("kubectl divvy run has no --as", fault_of("kubectl divvy run --as jane"))
        self.assertIn("has no --policyy", fault_of("divvy simulate openb --policyy fgd"))


class MarkedPages(unittest.TestCase):
    def test_every_block_of_commands_is_run_or_says_why_not(self):
        faults = [f"{page.relative_to(ROOT)}:{line}: {why}" for page in MARKED
                  for line, why in faults_of(blocks_of(page.read_text()))]
        faults += [f"{page.relative_to(ROOT)}:{line}: a block is indented: fence and mark it" for page in MARKED
                   for line in indented(page.read_text())]
        self.assertGreater(len(MARKED), 45, "pages")
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_marked_blocks_do_what_the_page_says(self):
        total = 0
        for page in MARKED:
            with self.subTest(page=str(page.relative_to(ROOT))):
                count, fault = run_page(page.read_text(), BUILD)
                self.assertIsNone(fault, f"{page.relative_to(ROOT)}, {fault}")
                total += count
        self.assertGreater(total, 50, "pages have blocks that are run")

    def test_faults_of_marks_and_outputs_are_found(self):
        page = "<!-- check: run -->\n```sh\necho 1 GPU\n```\n<!-- check: output -->\n```text\n2 GPU\n```\n"
        self.assertEqual([(block.mark, block.text) for block in blocks_of(page)],
                         [("run", "echo 1 GPU\n"), ("output", "2 GPU\n")])
        self.assertEqual(list(faults_of(blocks_of(page))), [])
        self.assertEqual(run_page(page, BUILD), (1, None))
        self.assertIn("no such line", run_page(page.replace("2 GPU", "2 CPU"), BUILD)[1])
        self.assertIn("status 3", run_page(page.replace("echo 1 GPU", "(exit 3)"), BUILD)[1])
        self.assertEqual(len(list(faults_of(blocks_of(page.replace("check: run", "check: ran"))))), 2)
        self.assertEqual(len(list(faults_of([Block(1, "sh", "", "skip", "")]))), 1)
        self.assertEqual(list(indented("Text\n\n    divvy ls\n\n- Item\n\n    its text\n")), [3])
        written = "<!-- check: file a.yaml -->\n```yaml\na: 1\n```\n<!-- check: run -->\n```sh\ngrep a a.yaml\n```\n"
        self.assertEqual(run_page(written, BUILD), (1, None))
        self.assertIn("status 2", run_page(written.replace("check: file a", "check: file b"), BUILD)[1])
        self.assertEqual(run_page(written.replace("run", "run, status 0 or 2").replace("file a", "file b"), BUILD), (1, None))
        self.assertIsNone(missing("k3f9x2 web 4GiB ...", "NAME\nabcdef web 6GiB 1 s"))
        self.assertEqual(missing("web 4GiB", "web 4GiB more"), "web 4GiB")

    def test_the_page_of_commands_has_each_command_once(self):
        rows = re.findall(r"^\| `divvy ([a-z -]+)` \|", COMMANDS.read_text(), re.MULTILINE)
        known = []
        for command in commands_of(()):
            known += [f"{command} {inner}" for inner in commands_of((command,))] or [command]
        self.assertEqual(sorted(rows), sorted(known))


if __name__ == "__main__":
    if not DIVVY.exists():
        print(f"no {DIVVY}: build everything first", file=sys.stderr)
        sys.exit(1)
    unittest.main(verbosity=2)
