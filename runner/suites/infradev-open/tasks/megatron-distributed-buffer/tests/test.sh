#!/bin/sh
# Harbor's verifier: lays upstream's tests of the merge commit over /app, launches every group of tests, and writes 1 to
# the reward file if each required test passed on each of its ranks, else 0. `runner grade` gives the evidence.
set -u
tests=$(cd "$(dirname "$0")" && pwd)
app=${APP_DIR:-/app}
reward=${REWARD_FILE:-/logs/verifier/reward.txt}
mkdir -p "$(dirname "$reward")"
upstream=$(mktemp -d)
git -C "$upstream" init -q
git -C "$upstream" fetch -q --depth 1 https://github.com/NVIDIA/Megatron-LM 000dc1c71497cd14825dc037955b701d40394b2c
for file in tests/unit_tests/distributed/megatron_fsdp/test_dbuffer.py; do git -C "$upstream" show "FETCH_HEAD:$file" > "$app/$file"; done
python3 - "$tests" "$app" <<'PYTHON'
import json, os, socket, subprocess, sys, tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

tests, app = Path(sys.argv[1]), Path(sys.argv[2])
manifest = json.loads((tests / "tests.json").read_text())["tests"]
sizes = {entry["group"]: entry["needs"]["ranks"] for entry in manifest.values()}
passed = True
for group, size in sizes.items():
    ids = [test for test, entry in manifest.items() if entry["group"] == group and entry.get("required", True)]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    probes = ids[0].startswith("probes/")
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(size):
            env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size))
            env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, PYTHONPATH=f"{app}:/opt/infradev", GLOO_SOCKET_IFNAME="lo")
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={folder}/{rank}.xml"]
            if not probes:
                command += ["-o", "addopts=", f"--confcutdir={app}/tests/unit_tests/distributed/megatron_fsdp"]
            ranks.append(subprocess.Popen(command + ids, cwd=tests if probes else app, env=env))
        for rank, process in enumerate(ranks):
            try:
                process.wait(900)
            except subprocess.TimeoutExpired:
                process.kill()
            report = Path(folder, f"{rank}.xml")
            cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
            bad = [case for case in cases if any(part.tag in ("failure", "error", "skipped") for part in case)]
            passed = passed and len(cases) == len(ids) and not bad
sys.exit(0 if passed else 1)
PYTHON
if [ $? -eq 0 ]; then echo 1 > "$reward"; else echo 0 > "$reward"; fi
