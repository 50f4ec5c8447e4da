#!/usr/bin/env bash
# Builds the site and serves it on this machine: tools/serve_docs.sh [PORT]
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

bazel build //docs:site
echo "The site: http://localhost:${1:-8000}, or bazel-bin/docs/site/index.html"
exec .venv/bin/python -m http.server --bind 127.0.0.1 --directory bazel-bin/docs/site "${1:-8000}"
