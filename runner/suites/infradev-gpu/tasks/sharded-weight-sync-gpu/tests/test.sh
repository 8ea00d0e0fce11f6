#!/bin/sh
# Harbor's verifier: lays the official tests over /app, launches every group of tests, and writes 1 to the reward file
# if each required test passed on each of its ranks, else 0. What is measured from outside of the ranks, and the
# evidence behind a verdict, only `runner grade` gives.
set -u
tests=$(cd "$(dirname "$0")" && pwd)
reward=${REWARD_FILE:-/logs/verifier/reward.txt}
mkdir -p "$(dirname "$reward")"
cp -R "$tests/official/." "${APP_DIR:-/app}/"
python3 - "$tests" "${APP_DIR:-/app}" <<'PYTHON'
import json, os, socket, subprocess, sys, tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

tests, app = Path(sys.argv[1]), Path(sys.argv[2])
manifest = json.loads((tests / "tests.json").read_text())["tests"]
sizes = {entry["group"]: entry["needs"]["ranks"] for entry in manifest.values()}
gpus = len(list(Path("/dev").glob("nvidia[0-9]*")))
passed = True
for group, size in sizes.items():
    ids = [test for test, entry in manifest.items() if entry["group"] == group and entry["required"]
           and entry["needs"].get("gpus", 0) <= gpus]
    if not ids:
        continue
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(size):
            env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
            env.update(LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=port, PYTHONPATH=f"{app}:/opt/infradev")
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={folder}/{rank}.xml"]
            ranks.append(subprocess.Popen(command + ids, cwd=tests if ids[0].startswith("probes/") else app, env=env))
        for rank, process in enumerate(ranks):
            try:
                process.wait(300)
            except subprocess.TimeoutExpired:
                process.kill()
            report = Path(folder, f"{rank}.xml")
            cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
            bad = [case for case in cases if any(part.tag in ("failure", "error", "skipped") for part in case)]
            passed = passed and len(cases) == len(ids) and not bad
sys.exit(0 if passed else 1)
PYTHON
if [ $? -eq 0 ]; then echo 1 > "$reward"; else echo 0 > "$reward"; fi
