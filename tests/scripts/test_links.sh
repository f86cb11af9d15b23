#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Links of the pages lead to files of this repository, and to headings that are there.
# shellcheck disable=SC1091,SC2154,SC2317 # $work and $project are of check.sh, which calls the tests by name
# shellcheck disable=SC2016 # awk expands
. "$(dirname "$0")/check.sh"

pages() {
    (cd "$project" && find . \( -name build -o -name .git \) -prune -o -name '*.md' -print | sed 's|^\./||')
}

# PAGE#ANCHOR for each heading, as the usual viewers of Markdown name it.
anchors() {
    (cd "$project" && pages | xargs awk '
        FNR == 1 { is_code = 0 }
        /^```/ { is_code = !is_code }
        !is_code && /^#+ / {
            anchor = tolower($0)
            sub(/^#+ +/, "", anchor)
            gsub(/[^a-z0-9_ -]/, "", anchor)
            gsub(/ /, "-", anchor)
            print FILENAME "#" anchor
        }')
}

# PAGE TARGET for each link that stays within the repository; a link may be broken over two lines.
links() {
    (cd "$project" && pages | while read -r page; do
        tr '\n' ' ' <"$page" | grep -o '\](\([^)]*\))' | sed 's/^](//; s/)$//' |
            grep -Ev '^([a-z]+:|$)' | sed "s|^|$page |"
    done)
}

test_each_link_leads_somewhere() {
    anchors >"$work/anchors"
    links >"$work/links"
    [ "$(wc -l <"$work/links")" -gt 100 ] || fail "only $(wc -l <"$work/links") links were found"
    while read -r page target; do
        file=${target%%#*}
        case $target in
        '#'*) path=$page ;;
        *) path=$(realpath -m --relative-to="$project" "$project/$(dirname "$page")/$file") ;;
        esac
        if [ ! -e "$project/$path" ]; then
            echo "$page: $target: there is no $path"
        elif [ "$target" != "$file" ] && ! grep -qxF "$path#${target#*#}" "$work/anchors"; then
            echo "$page: $target: $path has no such heading"
        fi
    done <"$work/links" >"$work/astray"
    equal astray "$(cat "$work/astray")" ''
}

run_tests
