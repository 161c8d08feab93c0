#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example of docs/counting.md on real words: which ones occur at least three times?

    PERHAPS=PROGRAM python3 tests/cli/test_words.py [-v] [CLASS[.TEST]...]

The words are those of the copyright files of all installed packages, and differ between machines. What must hold does
not: no word that occurs often enough is left out, and how many others get through is predicted by the filter itself.
"""
import collections
import glob
import json
import math
import pathlib
import re
import tempfile
import unittest

from test_behaviour import Case

FEWEST_WORDS = 1000  # distinct ones; with fewer, the counts say little
SIGMAS = 5


def copyright_words():
    """As tr -cs A-Za-z '\\n' has them."""
    words = []
    for name in sorted(glob.glob("/usr/share/doc/*/copyright")):
        with open(name, "rb") as text:
            words += re.findall(rb"[A-Za-z]+", text.read())
    return words


class Words(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.words = copyright_words()
        cls.counts = collections.Counter(cls.words)
        if len(cls.counts) < FEWEST_WORDS:
            raise unittest.SkipTest("this machine has too few copyright files")
        folder = tempfile.TemporaryDirectory(prefix="perhaps-words-")
        cls.addClassCleanup(folder.cleanup)
        cls.inputs = pathlib.Path(folder.name)
        cls.write("words.txt", cls.words)
        cls.write("distinct.txt", sorted(cls.counts))

    @classmethod
    def write(cls, name, words):
        (cls.inputs / name).write_bytes(b"\n".join(words) + b"\n")

    def setUp(self):
        super().setUp()
        for path in self.inputs.iterdir():
            (self.work / path.name).symlink_to(path)

    def create(self, *options):
        self.run_tool("create", "-q", "--kind", "counting", *options, "words.filter", "words.txt")
        return json.loads(self.run_tool("info", "--json", "words.filter").stdout)

    def selected(self, times, stream="distinct.txt"):
        process = self.run_tool("check", "--at-least", times, "words.filter", stream)
        return set(process.stdout.split())

    def often(self, times):
        return {word for word, count in self.counts.items() if count >= times}

    def predicted(self, info, times):
        """A word that is short of d adds is selected if others gave each of its counters d or more."""
        short = collections.Counter(times - count for count in self.counts.values() if count < times)
        return sum(number * info["times_fpr"][missing - 1] for missing, number in short.items())

    def check_thresholds(self, info):
        for times in (1, 2, 3, 4, 8, 15):
            selected, often = self.selected(times), self.often(times)
            self.assertEqual(often - selected, set())
            predicted = self.predicted(info, times)
            self.assertLessEqual(abs(len(selected - often) - predicted), SIGMAS * math.sqrt(predicted) + 1, times)

    def test_at_least(self):
        self.check_thresholds(self.create())
        self.assertEqual(self.selected(3, "words.txt"), self.selected(3))

    def test_at_least_with_wider_counters(self):
        self.check_thresholds(self.create("--counter-bits", "16", "-p", "0.05"))

    def test_conservative_counts_are_closer(self):
        self.create()
        plain = self.selected(3)
        self.create("-f", "--policy", "conservative")
        self.assertEqual(self.often(3) - self.selected(3), set())
        self.assertLessEqual(len(self.selected(3)), len(plain))

    def test_surely_fewer(self):
        self.create()
        process = self.run_tool("check", "-v", "--at-least", 3, "words.filter", "distinct.txt")
        fewer = set(process.stdout.split())
        self.assertEqual(fewer & self.often(3), set())
        self.assertEqual(fewer | self.selected(3), set(self.counts))

    def bounds(self):
        """What count prints, for each distinct word."""
        process = self.run_tool("count", "words.filter", "distinct.txt")
        lines = [line.split(b"\t") for line in process.stdout.splitlines()]
        self.assertEqual([line[0] for line in lines], sorted(self.counts))
        return dict(lines)

    def test_count(self):
        """Bounds are never too low, and exact for all but a share p; unbounded is what a counter cannot hold."""
        info = self.create()
        wrong = unbounded = 0
        for word, bound in self.bounds().items():
            if bound == b"unbounded":
                unbounded += 1
                continue
            self.assertLess(int(bound), 15)
            self.assertGreaterEqual(int(bound), self.counts[word])
            wrong += int(bound) > self.counts[word]
        exact_unbounded = len(self.often(15))
        self.assertGreaterEqual(unbounded, exact_unbounded)
        expected = len(self.counts) * info["times_fpr"][0]
        self.assertLessEqual(wrong + unbounded - exact_unbounded, expected + SIGMAS * math.sqrt(expected))

    def test_taking_words_out_again(self):
        """Half of the stream is removed: no bound is below what is left."""
        self.create("--counter-bits", "16")
        half = self.words[:len(self.words) // 2]
        (self.work / "half.txt").write_bytes(b"\n".join(half) + b"\n")
        process = self.run_tool("remove", "words.filter", "half.txt")
        self.assertEqual(process.stderr, b"words.filter: %d keys read, %d removed, 0 surely absent\n"
                         % (len(half), len(half)))
        left = self.counts - collections.Counter(half)
        for word, bound in self.bounds().items():
            self.assertTrue(bound == b"unbounded" or int(bound) >= left[word], word)

    def test_cuckoo_keeps_every_word_once(self):
        self.run_tool("create", "-q", "--kind", "cuckoo", "--policy", "unique", "u.filter", "words.txt")
        self.assertEqual(self.run_tool("check", "-c", "u.filter", "words.txt").stdout, b"%d\n" % len(self.words))

    def test_cuckoo_forgets_words(self):
        """Distinct words in, every second one out: the others are all there, and few of those taken out."""
        words = sorted(self.counts)
        (self.work / "out").write_bytes(b"\n".join(words[::2]) + b"\n")
        (self.work / "in").write_bytes(b"\n".join(words[1::2]) + b"\n")
        self.run_tool("create", "-q", "--kind", "cuckoo", "-p", "0.001", "f.filter", "distinct.txt")
        process = self.run_tool("remove", "-v", "f.filter", "out")
        self.assertEqual(process.stdout, b"")
        self.assertEqual(self.run_tool("check", "-c", "f.filter", "in").stdout, b"%d\n" % len(words[1::2]))
        info = json.loads(self.run_tool("info", "--json", "f.filter").stdout)
        still = int(self.run_tool("check", "-c", "f.filter", "out", status=None).stdout)
        expected = len(words[::2]) * info["fpr_now"]
        self.assertLessEqual(still, expected + SIGMAS * math.sqrt(expected) + 1)
        self.assertEqual(info["copies"], len(words[1::2]))


if __name__ == "__main__":
    unittest.main()
