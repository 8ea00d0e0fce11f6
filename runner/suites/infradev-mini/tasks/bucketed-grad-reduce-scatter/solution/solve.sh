#!/bin/sh
# Harbor's oracle: applies the reference change to the code base.
set -eu
solution=$(cd "$(dirname "$0")" && pwd)
cd "${APP_DIR:-/app}"
git apply "$solution/gold.patch" 2>/dev/null || patch -p1 --fuzz=0 < "$solution/gold.patch"
