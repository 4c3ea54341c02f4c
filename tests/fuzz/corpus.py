#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts the seeds and the dictionary of a fuzzer between the text file in the tree and the files that libFuzzer
reads.

usage: corpus.py unpack NAME DIRECTORY     writes DIRECTORY/NAME.dict and DIRECTORY/NAME/, a file for each seed
       corpus.py add NAME FILE...          adds seeds to corpus/NAME.txt, named as their files unless that is a hash

corpus/NAME.txt consists of a libFuzzer dictionary, a line "seeds:", and a line for each seed: its name, if it has one,
and its bytes as a C string. A fuzzer generated the seeds without a name, which covered new code. The others were
written by hand, captured, or have revealed a defect.
"""
import ast
import pathlib
import re
import sys

TREE = pathlib.Path(__file__).resolve().parent / "corpus"
SEED = re.compile(r'(?:(\S+) )?(".*")')
ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 92: "\\\\"}


def quote(seed):
    return '"%s"' % "".join(ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}") for byte in seed)


def read(name):
    dictionary, seeds = (TREE / f"{name}.txt").read_text().split("seeds:\n", 1)
    return dictionary, [SEED.fullmatch(line).groups() for line in seeds.splitlines()]


def unpack(name, directory):
    dictionary, seeds = read(name)
    directory = pathlib.Path(directory)
    (directory / name).mkdir(parents=True)
    (directory / f"{name}.dict").write_text(dictionary)
    for number, (title, text) in enumerate(seeds):
        (directory / name / (title or f"{number}")).write_bytes(ast.literal_eval("b" + text))


def add(name, *files):
    known = {text for _, text in read(name)[1]}
    with open(TREE / f"{name}.txt", "a", encoding="ascii") as corpus:
        for path in sorted(map(pathlib.Path, files)):
            text = quote(path.read_bytes())
            title = "" if re.fullmatch("[0-9a-f]{40}|[0-9]+", path.name) else path.name + " "
            if text not in known:
                corpus.write(f"{title}{text}\n")
            known.add(text)


if __name__ == "__main__":
    {"unpack": unpack, "add": add}[sys.argv[1]](*sys.argv[2:])
