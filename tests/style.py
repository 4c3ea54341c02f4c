#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what makes the tree hard to read, and names each item.

usage: tests/style.py [--objects=DIRECTORY] [--only=CHECK] [ROOT]
       tests/style.py --self-test

    long-file      files of C or of the page of more than 400 lines      PATH
    large-folder   folders of more than 20 .c files                      PATH
    long-function  functions of more than 40 lines, in C and JavaScript  PATH:FUNCTION
    circle         files or folders that use each other in a circle      NAME+NAME
    verb           public functions without a verb of the glossary       PATH:FUNCTION
    bare           static functions of several files with one bare name  NAME
    noun           structs and files without a noun of the glossary      PATH:NAME
    word           words that have a plainer one                         PATH:LINE: ...

The glossary is the tables below "### Verbs" and "### Nouns" in HACKING.md. A line "CHECK ITEM REASON" in
tests/style-exceptions explains an item away; ITEM may have * in it, and is PATH:WORD for a word. A line that matches
nothing is an error. Circles are found by tests/check-includes.sh, those of calls only with --objects.
"""
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

PRODUCT = "base perf opener config collectors symbols sampler formats http systemd daemon".split()
SCRIPTS = (".js", ".mjs")
MAX_FILE = 400
MAX_FOLDER = 20
MAX_FUNCTION = 40

# A word, and what to write instead.
WORDS = [
    (r"\bt(?:ell|ells|old|elling)\b", "report, say, distinguish"),
    (r"\bmend(?:s|ed|ing)?\b", "fix"),
    (r"\banew\b", "again"),
    (r"\bso long\b", "for that time, while"),
    (r"\bso many\b", "that many, at most N"),
    (r"\black\b", "missing"),
    (r"\bof which\b", "two sentences"),
    (r"\b(?:for|to|by|of|from|than|with|at|on) who(?:ever)?\b", "a client that, callers that"),
    (r"\b(?:thereof|therein|thereby|whereof|wherein|whereby)\b", "two sentences"),
    (r"\b(?:is|are|was|were)(?: not)? to be\b", "must be, will be"),
    (r"\band else\b", "otherwise"),
    (r"\bof one's own\b", "separate, its own"),
]
# A text of the product that begins so.
TEXT_SUBJECT = re.compile(r'(?<=")(who|what)\b(?! to\b)[^"]*', re.I)
# A sentence with such a subject, unless it is a question.
SUBJECT = re.compile(r"(?:^|(?<=[.:;!?] )|(?<=[.!?]\) ))(Who|Which|What|Whoever|Whatever)\b[^.?!]*([.?!]|$)")


class Tree:
    """A source tree, its files relative to the root."""

    def __init__(self, root):
        self.root = root
        self.findings = {}
        self.paths = []
        for folder, folders, names in os.walk(root):
            relative = os.path.relpath(folder, root)
            folders[:] = sorted(f for f in folders if not f.startswith((".", "_", "build", "autom4te", "corpus")))
            self.paths += sorted(os.path.normpath(os.path.join(relative, name)) for name in names)

    def read(self, path):
        try:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                return file.read()
        except (UnicodeDecodeError, OSError):
            return ""

    def add(self, check, item, text=None):
        self.findings.setdefault(check, []).append((item, text or item))

    def sources(self, *folders):
        return [p for p in self.paths if p.endswith((".c", ".h")) and (not folders or p.split("/")[0] in folders)]


# --- the parts of a C file

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blanked(text):
    return re.sub(r"[^\n]", " ", text)


def code_of(text):
    """C without comments and strings, in the same places."""
    return TOKEN.sub(lambda match: blanked(match.group(0)), text)


def functions_of(text):
    """Yields (name, line, lines between the braces, what stands before the name)."""
    code = re.sub(r"__attribute__\(\(.*?\)\)", lambda match: blanked(match.group(0)), code_of(text))
    lines = code.split("\n")
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            head = []
            for previous in range(start - 2, -1, -1):
                if not lines[previous].strip() or lines[previous].startswith(("}", "#")):
                    break
                head.insert(0, lines[previous])
            head = " ".join(head)
            match = re.search(r"(\w+)\s*\(", head)
            if match and ";" not in head and "=" not in head.split("(")[0]:
                yield match.group(1), start, number - start - 1, head[: match.start()].strip()
            start = None


JS_FUNCTION = re.compile(r"^( *)(?:export )?(?:(?:async )?function\*? *(\w+)|(?:static |async |get |set )*(#?\w+)"
                         r"(?: *= *(?:async )?(?:function)?)?) ?\(.*\{$|^( *)(?:export )?const (\w+) = .*=> \{$")


def js_functions_of(text):
    """The same of JavaScript, in which a brace closes where its line begins; functions without a name belong to others."""
    open_lines = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = JS_FUNCTION.match(line)
        indent = len(line) - len(line.lstrip())
        if match:
            name = match.group(2) or match.group(3) or match.group(5)
            if name not in ("if", "for", "while", "switch", "catch", "with"):
                open_lines[indent] = (name, number)
        elif line.lstrip().startswith("}") and indent in open_lines:
            name, start = open_lines.pop(indent)
            yield name, start, number - start - 1, ""


def comments_of(path, text):
    """Yields (line, text) for each comment, its lines joined and its marks gone."""
    if path.endswith(SCRIPTS):
        start, joined = None, []
        for number, line in enumerate(text.split("\n") + [""], 1):
            match = re.match(r"\s*//+ ?(.*)|.*\s// (.+)$", line)
            if match and not (match.group(1) or "").startswith("SPDX-"):
                start = start or number
                joined.append((match.group(1) or match.group(2) or "").strip())
            elif start:
                yield start, " ".join(joined)
                start, joined = None, []
    elif path.endswith((".c", ".h", ".proto", ".css")):
        for match in TOKEN.finditer(text):
            comment = match.group(0)
            if comment.startswith(("/*", "//")):
                comment = re.sub(r"^/\*+|\*/$|^//", "", comment)
                yield text.count("\n", 0, match.start()) + 1, re.sub(r"\n[ \t]*\*?[ \t]*", " ", comment).strip()
    elif path.endswith((".md", ".8", ".5", ".catalog", ".html")):
        number = 1
        for paragraph in re.split(r"(\n\s*\n|\n(?=\.[A-Z]|[-*|] ))", text):
            if paragraph.strip():
                first = number + len(paragraph[: len(paragraph) - len(paragraph.lstrip())].split("\n")) - 1
                yield first, " ".join(paragraph.split())
            number += paragraph.count("\n")
    else:
        start = None
        joined = []
        for number, line in enumerate(text.split("\n") + [""], 1):
            match = re.match(r"\s*#+(?!!) ?(.*)", line)
            if match and match.group(1).strip() and not match.group(1).startswith(("shellcheck ", "SPDX-")):
                start = start or number
                joined.append(match.group(1).strip())
            elif start:
                yield start, " ".join(joined)
                start, joined = None, []
            rest = re.search(r"\S.*\s# (.+)$", line)
            if rest and not match:
                yield number, rest.group(1)
    # Python's are strings as well.
    if path.endswith(".py"):
        for match in re.finditer(r'"""(.*?)"""', text, re.S):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match.group(1).split())


# --- the checks


def check_files(tree):
    for path in tree.sources() + [p for p in tree.paths if p.endswith(SCRIPTS + (".css",))]:
        lines = tree.read(path).count("\n")
        if lines > MAX_FILE:
            tree.add("long-file", path, f"{path}: {lines} lines")


def check_folders(tree):
    count = {}
    for path in tree.sources():
        if path.endswith(".c"):
            count[os.path.dirname(path)] = count.get(os.path.dirname(path), 0) + 1
    for folder, n in sorted(count.items()):
        if n > MAX_FOLDER:
            tree.add("large-folder", folder, f"{folder}/: {n} .c files")


def check_functions(tree):
    for path in tree.sources():
        for name, line, lines, _ in functions_of(tree.read(path)):
            if lines > MAX_FUNCTION:
                tree.add("long-function", f"{path}:{name}", f"{path}:{line}: {name}(), {lines} lines")
    for path in tree.paths:
        for name, line, lines, _ in js_functions_of(tree.read(path)) if path.endswith(SCRIPTS) else ():
            if lines > MAX_FUNCTION:
                tree.add("long-function", f"{path}:{name}", f"{path}:{line}: {name}(), {lines} lines")


def check_circles(tree, objects):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check-includes.sh")
    run = subprocess.run(
        ["bash", script, tree.root] + ([os.path.abspath(objects)] if objects else []),
        stdout=subprocess.PIPE,
        env=dict(os.environ, WITH_EXPLAINED="yes"),
        text=True,
        check=False,
    )
    for block in re.findall(r"^a circle of .*\n(?:    .*\n)*", run.stdout, re.M):
        first = block.split("\n")[0]
        tree.add("circle", first.split(": ")[1], block.rstrip())


def glossary(tree, title):
    """The words of the first column of the tables below a heading, and of a paragraph "Plain words: ..."; or None."""
    match = re.search(rf"^###+ {title}\b.*?\n(.*?)(?=^#|\Z)", tree.read("HACKING.md"), re.S | re.M)
    if not match:
        return None
    words = set()
    for row in re.findall(r"^\| *([^|]*?) *\|", match.group(1), re.M):
        words.update(re.findall(r"[a-z0-9]+", re.sub(r"\([^)]*\)", "", row.lower())))
    for paragraph in re.findall(r"^Plain words: (.*?)(?=\n\n|\Z)", match.group(1), re.S | re.M):
        words.update(re.findall(r"[a-z0-9]+", paragraph.lower()))
    return words


def plurals(word):
    forms = {word, word + "s", word + "es"}
    if word.endswith("s"):
        forms.add(word[:-1])
    if word.endswith("es"):
        forms.add(word[:-2])
    if word.endswith("y"):
        forms.add(word[:-1] + "ies")
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    return forms


def tags_of(tree):
    """(path, tag) of each struct and enum that the product defines."""
    for path in tree.sources(*PRODUCT):
        for match in re.finditer(r"^(?:struct|enum) (\w+)\s*\{", code_of(tree.read(path)), re.M):
            yield path, match.group(1)


def stem_of(path):
    stem = os.path.splitext(os.path.basename(path))[0]
    return re.sub(r"-(fallback|portable|arm64|x86)$", "", stem).replace("-", "_")


def prefixes_of(path):
    """What the functions of a file may begin with, but for the structs' names."""
    folders = os.path.dirname(path).replace("-", "_").split("/")
    words = stem_of(path).split("_")
    prefixes = set()
    for noun in ["_".join(words[:n]) for n in range(1, len(words) + 1)] + folders:
        prefixes.update(plurals(noun))
    for folder in folders:
        prefixes.update(f"{form}_{noun}" for form in plurals(folder) for noun in plurals(stem_of(path)))
    return prefixes


def has_verb(name, result, prefixes, verbs, nouns):
    """Whether a public function's name says what it does: behind the noun of its file or of a struct stands a verb.

    A function that gives a value may be named by the value (group_size), one that gives a bool by a predicate
    (spec_takes_filter), and one that is all of its file by the file (muldiv).
    """
    words = re.sub(r"_(fallback|portable)$", "", name).split("_")
    if len(words) == 1:
        return words[0] in prefixes
    rests = [words[n:] for n in range(1, len(words) + 1) if "_".join(words[:n]) in prefixes] or [words[1:]]
    if words[0] in verbs or [] in rests or any(rest[0] in verbs for rest in rests):
        return True
    if result == "bool" and any(word in verbs or word.endswith("s") for rest in rests for word in rest):
        return True
    return result not in ("void", "int", "bool") or any(plurals(word) & nouns for rest in rests for word in rest)


def check_verbs(tree):
    verbs = glossary(tree, "Verbs")
    if verbs is None:
        return
    nouns = (glossary(tree, "Nouns") or set()) | {"fd", "pid"}
    tags = set()
    for _, tag in tags_of(tree):
        tags |= plurals(tag)
    for path in tree.sources(*PRODUCT):
        if not path.endswith(".c"):
            continue
        for name, line, _, before in functions_of(tree.read(path)):
            if name == "main" or "static" in before.split():
                continue
            if not has_verb(name, before, prefixes_of(path) | tags, verbs, nouns):
                tree.add("verb", f"{path}:{name}", f"{path}:{line}: {before} {name}()")


def check_bare(tree):
    """A static function whose bare verb stands in several files carries its noun: request_settle(), not settle()."""
    files = {}
    for path in tree.sources(*PRODUCT):
        for name, _, _, before in functions_of(tree.read(path)) if path.endswith(".c") else ():
            if "static" in before.split() and re.fullmatch(r"(on_)?[a-z0-9]+", name):
                files.setdefault(name, {})[os.path.join(os.path.dirname(path), stem_of(path))] = path
    for name, paths in sorted(files.items()):
        if len(paths) > 1:
            tree.add("bare", name, f"{name}(): {' '.join(sorted(paths.values()))}")


def check_nouns(tree):
    nouns = glossary(tree, "Nouns")
    if nouns is None:
        return
    known = set()
    for noun in nouns:
        known |= plurals(noun)
    items = set(tags_of(tree)) | {(path, stem_of(path)) for path in tree.sources(*PRODUCT)}
    for path, name in sorted(items):
        if not known.intersection(name.split("_")):
            tree.add("noun", f"{path}:{name}", f"{path}: {name}")


def is_prose(path):
    name = os.path.basename(path)
    if path in ("LICENSE", "configure", "aclocal.m4", "debian/copyright") or name == "Makefile.in":
        return False
    if name.endswith(("~", ".json", ".tsv", ".h.in", ".pyc", ".xz", ".log", ".trs", ".o", ".a")):
        return False
    return True


def check_words(tree):
    for path in tree.paths:
        if not is_prose(path):
            continue
        text = tree.read(path)
        # A name is several words. Where a sentence goes on in the next line, so do its words.
        spaced = text.replace("_", " ")
        spaced = re.sub(r"\n([ \t]*(?:\*|#|//)?[ \t]*)(?=\S)", lambda m: " " + "\0" + m.group(1).translate(
            {ord("*"): " ", ord("#"): " ", ord("/"): " "}), spaced)
        spaced = re.sub(r'"( \0\s*)"', lambda m: " " + m.group(1) + " ", spaced)
        for pattern, instead in WORDS:
            pattern = pattern.replace(" ", r"[ \0]+").replace(r"\b", r"(?<![A-Za-z])", 1)
            for match in re.finditer(pattern, spaced, re.I):
                word = " ".join(match.group(0).replace("\0", " ").split())
                line = spaced.count("\n", 0, match.start()) + spaced.count("\0", 0, match.start()) + 1
                tree.add("word", f"{path}:{word.lower()}", f"{path}:{line}: {word} ({instead})")
        if path.endswith(".c") and path.split("/")[0] in PRODUCT:
            for token in TOKEN.finditer(re.sub(r'"\s*\n\s*"', lambda m: " " + " " * (len(m.group(0)) - 2) + " ", text)):
                match = TEXT_SUBJECT.match(token.group(0), 1) if token.group(0).startswith('"') else None
                if match:
                    line = text.count("\n", 0, token.start()) + 1
                    tree.add("word", f"{path}:{match.group(1)}", f"{path}:{line}: {match.group(0)[:90]} (no subject)")
        for line, comment in comments_of(path, text):
            for match in SUBJECT.finditer(comment):
                if match.group(2) != "?":
                    tree.add("word", f"{path}:{match.group(1)}", f"{path}:{line}: {match.group(0)[:90]} (no subject)")


# --- what is found


TITLES = {
    "long-file": f"files of more than {MAX_FILE} lines",
    "large-folder": f"folders of more than {MAX_FOLDER} .c files",
    "long-function": f"functions of more than {MAX_FUNCTION} lines",
    "circle": "circles",
    "verb": "public functions without a verb of the glossary",
    "bare": "names of static functions in several files that are only a verb",
    "noun": "structs and files without a noun of the glossary",
    "word": "words that have a plainer one",
}


def exceptions_of(tree):
    for number, line in enumerate(tree.read("tests/style-exceptions").split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield number, (line.split(None, 2) + ["", "", ""])[:3]


def explain(tree, checks):
    """Takes away what tests/style-exceptions explains. Returns (how many of each check, complaints)."""
    explained = {}
    complaints = []
    for number, (check, item, reason) in exceptions_of(tree):
        where = f"tests/style-exceptions:{number}"
        if check not in TITLES or not reason:
            complaints.append(f"{where}: not CHECK ITEM REASON")
            continue
        if check not in checks:
            continue
        found = tree.findings.get(check, [])
        matching = [finding for finding in found if fnmatch.fnmatchcase(finding[0], item)]
        if not matching:
            complaints.append(f"{where}: there is no {check} {item}")
        explained[check] = explained.get(check, 0) + len(matching)
        tree.findings[check] = [finding for finding in found if finding not in matching]
    return explained, complaints


def examine(root, objects=None, only=None):
    """Returns (the tree with its findings, how many are explained, complaints)."""
    tree = Tree(root)
    checks = {
        "long-file": check_files,
        "large-folder": check_folders,
        "long-function": check_functions,
        "circle": lambda tree: check_circles(tree, objects),
        "verb": check_verbs,
        "bare": check_bare,
        "noun": check_nouns,
        "word": check_words,
    }
    wanted = [only] if only else list(checks)
    for check in wanted:
        checks[check](tree)
    # Without objects circles of calls are not found, so they cannot be missed.
    explained, complaints = explain(tree, [c for c in wanted if c != "circle" or objects])
    return tree, explained, complaints


def report(tree, explained, complaints, only):
    failed = bool(complaints)
    for check, title in TITLES.items():
        if only and check != only:
            continue
        found = tree.findings.get(check, [])
        more = f" ({explained[check]} explained)" if explained.get(check) else ""
        print(f"{title}: {len(found)}{more}")
        for _, text in found:
            print("    " + text.replace("\n", "\n    "))
        failed |= bool(found)
    for complaint in complaints:
        print(complaint)
    return failed


# --- a test of the checks themselves

GLOSSARY = "### Verbs\n| verb | meaning |\n| --- | --- |\n| open, `close` | x |\n\n### Nouns\n| ring | x |\n\nPlain words: size.\n"
BODY = "void ring_open(void)\n{\n%s}\n"
# Files, and what is found in them.
CASES = [
    ({"base/ring.c": "\n" * 400}, []),
    ({"base/ring.c": "\n" * 401}, ["long-file base/ring.c"]),
    ({f"base/{'x' * n}-ring.h": "" for n in range(1, 31)}, []),
    ({f"base/{'x' * n}-ring.c": "" for n in range(1, 21)}, []),
    ({f"base/{'x' * n}-ring.c": "" for n in range(1, 22)}, ["large-folder base"]),
    ({"base/ring.c": BODY % ("    x();\n" * 40)}, []),
    ({"base/ring.c": BODY % ("    x();\n" * 41)}, ["long-function base/ring.c:ring_open"]),
    ({"tests/unit/x.c": (BODY % ("    x();\n" * 41))}, ["long-function tests/unit/x.c:ring_open"]),
    ({"web/ring.js": "\n" * 401}, ["long-file web/ring.js"]),
    ({"web/ring.js": "function open() {\n" + "    x();\n" * 40 + "}\n"}, []),
    ({"web/ring.js": "async function open() {\n" + "    x();\n" * 41 + "}\n"}, ["long-function web/ring.js:open"]),
    ({"web/ring.js": "class Ring {\n    get size() {\n" + "        x();\n" * 41 + "    }\n}\n"},
     ["long-function web/ring.js:size"]),
    ({"web/ring.js": "export const open = (a) => {\n" + "    x();\n" * 41 + "};\n"}, ["long-function web/ring.js:open"]),
    ({"web/ring.js": "// Errors\n// are told.\nx(); // Who asks, waits.\n"},
     ["word web/ring.js:told", "word web/ring.js:Who"]),
    ({"base/ring.c": '#include "base/size.h"\n', "base/size.h": '#include "base/ring.h"\n'},
     ["circle base/ring+base/size"]),
    ({"base/ring.c": "int ring_close(void)\n{\n}\nint ring_size(void)\n{\n}\n"}, []),
    ({"base/ring.c": "static int ring_lose(void)\n{\n}\n"}, []),
    ({"base/ring.c": "int ring_lose(void)\n{\n}\n"}, ["verb base/ring.c:ring_lose"]),
    ({"base/ring.c": "int buffer_open(void)\n{\n}\n"}, []),
    ({"base/ring.c": "int buffer_lose(void)\n{\n}\n"}, ["verb base/ring.c:buffer_lose"]),
    ({"base/ring.c": "size_t ring_left(void)\n{\n}\nbool ring_wraps(void)\n{\n}\n"}, []),
    ({"base/ring.c": "int ring(int a,\n         int b)\n{\n}\n"}, []),
    ({"base/ring.c": "bool ring_wrapped(void)\n{\n}\n"}, ["verb base/ring.c:ring_wrapped"]),
    ({"base/ring.c": "__attribute__((noinline)) void ring_lose(void)\n{\n}\n"}, ["verb base/ring.c:ring_lose"]),
    ({"perf/old/ring.c": "int old_ring_open(void)\n{\n}\nint rings_open(void)\n{\n}\n"}, []),
    ({"base/ring.c": "struct big_ring {\n};\nint big_ring_open(void)\n{\n}\n"}, []),
    ({"base/ring.c": "static int add(void)\n{\n}\n", "base/size.c": "static int add(void)\n{\n}\n"}, ["bare add"]),
    ({"base/ring.c": "static int on_io(void)\n{\n}\n", "perf/size.c": "static int on_io(int n)\n{\n}\n"}, ["bare on_io"]),
    ({"base/ring.c": "static int add(void)\n{\n}\n", "base/ring-fallback.c": "static int add(void)\n{\n}\n"}, []),
    ({"base/ring.c": "struct ring_thing {\n};\n"}, []),
    ({"base/ring.c": "struct thing {\n};\n"}, ["noun base/ring.c:thing"]),
    ({"base/thing.h": ""}, ["noun base/thing.h:thing"]),
    ({"base/ring.c": "/* Errors are told. */\n"}, ["word base/ring.c:told"]),
    ({"base/ring.c": "static int ring_tell;\n"}, ["word base/ring.c:tell"]),
    ({"base/ring.c": "x = ftell(file); /* bold */\n"}, []),
    ({"base/ring.c": '    "it lasts so "\n    "long";\n'}, ["word base/ring.c:so long"]),
    ({"base/ring.c": "/* It lasts so\n * long. */\n"}, ["word base/ring.c:so long"]),
    ({"base/ring.c": "/* Who is slow loses. */\n"}, ["word base/ring.c:Who"]),
    ({"base/ring.c": "/* It is so. Which it\n * does. */\n"}, ["word base/ring.c:Which"]),
    ({"base/ring.c": "/* What is this? It is a ring. */\n"}, []),
    ({"tests/x.c": 'char a[] = "what is this";\n'}, []),
    ({"base/ring.c": 'char a[] = "what to read", b[] = "all "\n"what is this";\n'}, []),
    ({"base/ring.c": '\nchar a[] = "what is this";\n'}, ["word base/ring.c:what"]),
    ({"tests/x.sh": "# Those that\n# are told.\n# Who asks, waits.\necho # What is said.\n"},
     ["word tests/x.sh:told", "word tests/x.sh:Who", "word tests/x.sh:What"]),
    ({"tests/x.sh": "# SPDX-x\n# shellcheck shell=sh\n# What it is.\n"}, ["word tests/x.sh:What"]),
    ({"tests/x.py": '"""What it does."""\n'}, ["word tests/x.py:What"]),
    ({"doc/x.md": "a table of\nwhich two are so\n\nWhat is there."}, ["word doc/x.md:of which", "word doc/x.md:What"]),
    ({"base/ring.c": "\n" * 401, "tests/style-exceptions": "# why\nlong-file base/r*.c it is long\n"}, []),
    ({"tests/style-exceptions": "long-file base/ring.c it was long\n"},
     ["tests/style-exceptions:1: there is no long-file base/ring.c"]),
    ({"base/ring.c": "\n" * 401, "tests/style-exceptions": "long-file base/ring.c\n"},
     ["long-file base/ring.c", "tests/style-exceptions:1: not CHECK ITEM REASON"]),
    ({"base/ring.c": '#include "base/size.h"\n', "base/size.h": '#include "base/ring.h"\n',
      "tests/style-exceptions": "circle base/ring+base/size they are one\n"}, []),
]


def self_test():
    for files, expected in CASES:
        with tempfile.TemporaryDirectory() as root:
            for path, text in {"HACKING.md": GLOSSARY, **files}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            tree, _, complaints = examine(root, root)
        found = [f"{check} {item}" for check in TITLES for item, _ in tree.findings.get(check, [])] + complaints
        if found != expected:
            print(f"tests/style.py does not work: {files} gave {found}, not {expected}")
            return True
    return False


def main():
    objects = only = None
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    for argument in sys.argv[1:]:
        if argument == "--self-test":
            return self_test()
        if argument.startswith("--objects="):
            objects = argument.split("=", 1)[1]
        elif argument.startswith("--only="):
            only = argument.split("=", 1)[1]
        else:
            root = argument
    return report(*examine(root, objects, only), only)


if __name__ == "__main__":
    sys.exit(main())
