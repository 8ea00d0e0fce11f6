#!/bin/sh
# Harbor's verifier: runs every group of tests.json on its ranks and writes 1 or 0 to the reward file.
# `runner grade` does the same with isolation, limits and evidence for each rank.
set -eu
tests=$(cd "$(dirname "$0")" && pwd)
app=${APP_DIR:-/app}
cp -R "$tests/official/." "$app/"
TESTS_DIR=$tests APP_DIR=$app python3 - <<'PY'
import json, os, pathlib, socket, subprocess, sys

tests, app = pathlib.Path(os.environ["TESTS_DIR"]), pathlib.Path(os.environ["APP_DIR"])
report = os.environ.get("INFRADEV_PYTHON", "/opt/infradev/python")
manifest = json.loads((tests / "tests.json").read_text())
groups = {}
for test_id, test in manifest["tests"].items():
    groups.setdefault((test["group"], test["kind"], test["needs"]["ranks"]), []).append(test_id)
resolved = True
for (name, kind, ranks), ids in groups.items():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    processes = []
    for rank in range(ranks):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
        env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), PYTHONPATH=f"{app}:{report}")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ids]
        processes.append(subprocess.Popen(command, cwd=tests if kind == "probe" else app, env=env))
    try:
        passed = all([process.wait(timeout=120) == 0 for process in processes])
    except subprocess.TimeoutExpired:
        passed = False
    for process in processes:
        if process.poll() is None:
            process.kill()
    print(f"{name}: {'passed' if passed else 'failed'}")
    resolved = resolved and passed
reward = pathlib.Path(os.environ.get("REWARD_FILE", "/logs/verifier/reward.txt"))
reward.parent.mkdir(parents=True, exist_ok=True)
reward.write_text("1\n" if resolved else "0\n")
PY
