#!/bin/sh
# Applies the reference patch to the repository.
set -eu
solution=$(cd "$(dirname "$0")" && pwd)
cd "${APP_DIR:-/app}"
git apply "$solution/gold.patch"
