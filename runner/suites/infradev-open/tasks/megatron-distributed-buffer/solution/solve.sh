#!/bin/sh
# Applies the reference change: what the merge commit changed, without its tests.
set -eu
cd "${APP_DIR:-/app}"
upstream=$(mktemp -d)
git -C "$upstream" init -q
git -C "$upstream" fetch -q --depth 2 https://github.com/NVIDIA/Megatron-LM 000dc1c71497cd14825dc037955b701d40394b2c
git -C "$upstream" diff FETCH_HEAD~1 FETCH_HEAD -- . ':!tests' | git apply
