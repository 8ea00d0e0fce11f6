#!/bin/sh
# Applies the reference change: what the merge commit changed, without its tests.
set -eu
cd "${APP_DIR:-/app}"
upstream=$(mktemp -d)
git -C "$upstream" init -q
git -C "$upstream" fetch -q --depth 2 https://github.com/NVIDIA/Megatron-LM e7af8608837a94360fac5e8359665e3a803b1679
git -C "$upstream" diff FETCH_HEAD~1 FETCH_HEAD -- . ':!tests' | git apply
