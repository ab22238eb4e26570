#!/bin/sh
# Prints the Python that the virtual environment is made from, or says what is missing.
#
#   find_python.sh [PYTHON]     PYTHON: the only candidate, when given
#
# A candidate is run, not just looked up: version managers leave commands on the path that only
# print an error. It must be able to make virtual environments, which Debian packages apart.
set -eu

oldest='3, 11'
beyond='3, 15' # ONNX Runtime has no wheels from here on: such a Python is the last choice
told=''

version_fits() {
    "$1" -c "import sys; sys.exit(not ($2) <= sys.version_info[:2] < ($3))" 2>/dev/null
}

usable() {
    version_fits "$1" "$2" "$3" || return 1
    "$1" -c 'import ensurepip, venv' 2>/dev/null && return 0
    told="$1 cannot make virtual environments (its ensurepip or venv module is missing):
on Debian and Ubuntu, 'apt install python3-venv' adds them."
    return 1
}

if [ -n "${1:-}" ]; then
    if usable "$1" "$oldest" '99, 0'; then
        echo "$1"
        exit 0
    fi
    found=$("$1" --version 2>/dev/null) || found='it does not run'
    echo "error: PYTHON=$1 does not serve ($found): Python 3.11 or newer with venv is needed." >&2
    [ -z "$told" ] || echo "$told" >&2
    exit 1
fi

candidates='python3 python3.14 python3.13 python3.12 python3.11 python'
for range in "$oldest|$beyond" "$beyond|99, 0"; do
    for candidate in $candidates; do
        if usable "$candidate" "${range%|*}" "${range#*|}"; then
            echo "$candidate"
            exit 0
        fi
    done
done

echo "error: no Python 3.11 or newer found (tried: $candidates)." >&2
[ -z "$told" ] || echo "$told" >&2
echo "Install one, or name it: make PYTHON=/path/to/python3 ..." >&2
exit 1
