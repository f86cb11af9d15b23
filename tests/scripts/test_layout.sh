#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tree is as docs/design/layout.md says.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
. "$(dirname "$0")/check.sh"

product='core oneib oneibd oneib-node im vnm vmm scheduler'

sources() {
    # shellcheck disable=SC2086 # directories
    (cd "$project" && find $product -name '*.c' -o -name '*.h')
}

# Rows of the table: WHAT|FILE|WORDS.
single_places() {
    # shellcheck disable=SC2016 # backquotes of the table
    sed -n 's/^| \([^|]*\) | \([a-z0-9_/.-]*\.c\) | `\(.*\)` |$/\1|\2|\3/p' "$project/docs/design/layout.md"
}

test_what_decides_over_isolation_is_done_in_the_file_that_the_page_names() {
    single_places >"$work/places"
    equal rows "$(wc -l <"$work/places")" 3
    while IFS='|' read -r what file words; do
        equal "$what" "$(sources | (cd "$project" && xargs grep -lF -- "$words"))" "$file"
    done <"$work/places"
}

test_a_file_name_occurs_once() {
    equal twice "$(sources | sed 's|.*/||' | sort | uniq -d)" ''
}

test_sources_are_listed() {
    # shellcheck disable=SC2086 # directories
    equal globs "$(cd "$project" && find $product -name CMakeLists.txt -exec grep -lE 'GLOB|EXISTS' {} +)" ''
}

test_the_page_names_each_library() {
    for directory in "$project"/core/*/; do
        has "$project/docs/design/layout.md" "^  $(basename "$directory")/ "
    done
}

run_tests
