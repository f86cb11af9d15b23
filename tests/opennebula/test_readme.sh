#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The cases that README.md lists are those that there are.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
command -v ruby >/dev/null || {
    echo "there is no ruby"
    exit 77
}
list=$(mktemp)
trap 'rm -f "$list"' EXIT
"$here/run" --list | sed -e 's/^[a-z]*: //' -e 's/ (expected to fail)$//' >"$list" || exit 1
[ -s "$list" ] || {
    echo "run --list names no case"
    exit 1
}
failed=0
while IFS= read -r name; do
    grep -qF -- "| $(printf '%s' "$name" | sed 's/|/\\|/g') |" "$here/README.md" || {
        echo "README.md does not list: $name"
        failed=1
    }
done <"$list"
listed=$(grep -cE '\| (ok|known|failed|-) \| (ok|known|failed|-) \|$' "$here/README.md")
[ "$listed" = "$(wc -l <"$list")" ] || {
    echo "README.md lists $listed cases, there are $(wc -l <"$list")"
    failed=1
}
exit $failed
