#!/bin/sh
# Print the folder of a Node.js that is new enough (20 or later) and has npm, or fail.
set -eu

for node in "${NODE:-}" node; do
    [ -n "$node" ] || continue
    path=$(command -v "$node" 2>/dev/null) || continue
    command -v "$(dirname "$path")/npm" >/dev/null 2>&1 || continue
    major=$("$path" -p 'process.versions.node.split(".")[0]' 2>/dev/null) || continue
    if [ "$major" -ge 20 ]; then
        dirname "$path"
        exit 0
    fi
done
exit 1
