#!/usr/bin/env bash
# run.sh [--update]: the text tests of the commands, and what a command costs to start. run.py has the format.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${TWINYARD_BIN:-$here/../../build/dev/bin}
code=0
# The dev build is not optimized; the release build is held to 1.5 by `./dev bench`.
python3 -B "$here/start_cost.py" --bin "$bin" --ratio-max 2.5 || code=1
python3 -B "$here/run.py" --bin "$bin" "$@" || code=1
exit "$code"
