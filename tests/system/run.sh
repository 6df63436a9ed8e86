#!/usr/bin/env bash
# run.sh [-j JOBS] [-k WORD] [--list]: whole clusters of real processes. README.md has the rest.
exec /usr/bin/env python3 -B "$(dirname "$0")/run.py" "$@"
