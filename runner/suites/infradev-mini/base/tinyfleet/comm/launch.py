"""Start one command on several ranks of this machine.

    python -m tinyfleet.comm.launch -n 4 -- python -m pytest tests

Each process gets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. The exit code is the first one that is
not 0, by rank.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys


def free_port() -> int:
    """A TCP port of the loopback interface that is free now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def launch(command: list[str], nproc: int) -> list[int]:
    """Run `command` on `nproc` ranks, wait for all, and return their exit codes by rank."""
    port = str(free_port())
    processes = []
    try:
        for rank in range(nproc):
            env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(nproc))
            env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            processes.append(subprocess.Popen(command, env=env))
        return [process.wait() for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description="Start one command on several ranks of this machine.")
    parser.add_argument("-n", "--nproc", type=int, default=4, help="number of ranks (default: 4)")
    parser.add_argument("command", nargs="+", help="the command and its arguments, after --")
    options = parser.parse_args()
    codes = launch(options.command, options.nproc)
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
