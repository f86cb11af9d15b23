#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tables of docs/operator-messages.md have messages that the programs print. (Its entries of findings are made of their table:
# tests/cli/test_docs.c.)
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
# shellcheck disable=SC2016 # awk expands
. "$(dirname "$0")/check.sh"

# All in one line, string literals joined as the compiler joins them.
sources() {
    (cd "$project" && find core im oneib oneibd oneib-node remotes scheduler share vmm vnm -type f -print0 | xargs -0 cat) |
        tr '\n' ' ' | sed 's/" *PRI[A-Za-z0-9]* *"//g; s/"  *"//g; s/""//g; s/\\"/"/g'
}

# "LINE PART" for what is the same in each such message: N, numbers, quotes and "..." stand for what is not.
parts() {
    LC_ALL=C awk '
        /^\| `/ {
            sub(/^\| /, "")
            sub(/ \| .*/, "")
            count = split($0, quoted, "`")
            for (i = 2; i <= count; i += 2) {
                if (quoted[i] ~ /^error: /) # OpenNebula or libvirt prints it
                    continue
                gsub(/\342\200\246|\.\.\.|["'"'"'():;]|[0-9]+|^WARN: /, "\001", quoted[i])
                gsub(/(^| )[NM]($|[^a-z])/, "\001", quoted[i])
                pieces = split(quoted[i], piece, "\001")
                for (j = 1; j <= pieces; j++) {
                    gsub(/^[ ,]+|[ ,]+$/, "", piece[j])
                    if (length(piece[j]) >= 12)
                        print FNR, piece[j]
                }
            }
        }' "$project/docs/operator-messages.md"
}

test_each_message_of_the_page_is_printed_somewhere() {
    sources >"$work/sources"
    parts >"$work/parts"
    [ "$(wc -l <"$work/parts")" -gt 80 ] || fail "only $(wc -l <"$work/parts") parts of messages were found"
    while read -r line part; do
        grep -qF -e "$part" "$work/sources" || echo "line $line: nothing prints \"$part\""
    done <"$work/parts" >"$work/stale"
    equal stale "$(cat "$work/stale")" ''
}

run_tests
