import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { guardSchema } from "@/lib/contract/result";
import { oneFile, statusesOf, TinyGradings } from "./testing/tiny-gradings";

let tiny: TinyGradings;
beforeAll(async () => {
  tiny = await TinyGradings.create();
});
afterAll(async () => {
  await tiny.remove();
});

const source = `import json
import math
import multiprocessing
import time
import unittest
from unittest import mock

import pytest

from lib.core import value


@pytest.fixture(scope="module")
def shared():
    made = {"value": value()}
    yield made
    assert made["value"] == 1


@pytest.mark.parametrize("times", [1, 2, 3])
def test_times(times):
    if times == 3:
        assert value() == 1
        return
    assert value() * times == times


def test_shared(shared):
    assert shared == {"value": 1}


def test_shared_again(shared):
    assert shared["value"] == 1.0


class TestClass:
    def setup_method(self):
        self.kept = value()

    @pytest.mark.parametrize("name", ["a b", "c::d", "e[f]"])
    def test_kept(self, name):
        assert self.kept == 1
        assert name in ("a b", "c::d", "e[f]")


class TestCase(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(value(), 1)

    def test_parts(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertEqual(value() * part, part)


def test_clocks(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: "no number")
    monkeypatch.setattr(time, "monotonic", mock.Mock(side_effect=[1.0]))
    assert time.monotonic() == 1.0
    assert value() == 1


def test_floats():
    assert value() + 1e300 == 1e300
    assert math.isclose(value(), 1.0)
    assert {"a": 0.5, **{"a": float(value())}} == {"a": 0.25, **{"a": 1.0}}


def _child(queue):
    queue.put(value())


def test_children():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=20) == 1
    child.join()
    assert child.exitcode == 0


if True:

    def test_shadowed():
        assert value() == 1


@pytest.mark.skipif(value() == 2, reason="never")
def test_marked():
    x = json.dumps({"value": value()}); assert x == '{"value": 1}';
`;
const names = [
  ...[1, 2, 3].map((times) => `test_times[${times}]`),
  "test_shared",
  "test_shared_again",
  ...["a b", "c::d", "e[f]"].map((name) => `TestClass::test_kept[${name}]`),
  "TestCase::test_equal",
  "TestCase::test_parts",
  "test_clocks",
  "test_floats",
  "test_children",
  "test_shadowed",
  "test_marked",
];

it("resolves an honest patch whatever form the tests have, and none of them passes as a negative control", async () => {
  const spec = oneFile(source, [], {});
  const ids = Object.fromEntries(names.map((name) => [`tests/test_core.py::${name}`, { group: "official" }]));
  const task = await tiny.task({ ...spec, ids });
  const { result, payloadDir } = await tiny.grade(task, "def value():\n    return 1\n");
  const guard = guardSchema.parse(JSON.parse(await readFile(join(payloadDir, "guard.json"), "utf8")));
  expect(result.tests.flatMap(({ ranks }) => ranks.flatMap(({ failure }) => failure?.message ?? []))).toEqual([]);
  expect(guard.findings).toEqual([]);
  expect(statusesOf(result)).toEqual(names.map(() => "passed"));
  expect(result.status).toBe("completed");
  expect(guard.controls?.filter(({ observed }) => observed === "passed")).toEqual([]);
  expect(guard.controls?.length).toBeGreaterThan(names.length / 2);
});
