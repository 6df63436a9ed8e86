# Sourced by ./dev and the scripts in tools/: names and messages that they share.
# shellcheck shell=bash
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${CMAKE_BUILD_PARALLEL_LEVEL:=$(nproc)}"
export CMAKE_BUILD_PARALLEL_LEVEL

say() { printf 'dev: %s\n' "$*" >&2; }
die() { printf 'dev: error: %s\n' "$*" >&2; exit 1; }

# The C++ files of the project, NUL-separated: tracked ones, and new ones that git does not ignore.
cpp_files() {
    git -C "$TOP" ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.h' |
        while IFS= read -r -d '' file; do
            if [[ -e $TOP/$file ]]; then printf '%s\0' "$file"; fi
        done
}
