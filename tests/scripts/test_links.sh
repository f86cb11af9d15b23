#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Links of the pages lead to files of this repository, and to headings that are there; a file that a page, a manual or a comment
# names is there.
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

# "PLACE:LINE:PATH" for each file that is named by its path from the top, from core/ or from the unit tests.
named_files() {
    (
        cd "$project" || exit
        code="$(find core -mindepth 1 -maxdepth 1 -type d -printf '%f|')core|im|oneib|oneibd|oneib-node|scheduler|vmm|vnm"
        find core docs im oneib oneibd oneib-node remotes scheduler share tests vmm vnm ./*.md -type f \
            \( -name '*.[ch]' -o -name '*.md' -o -name '*.[58]' -o -name '*.sh' -o -name CMakeLists.txt -o -name '*.def' \) \
            -exec grep -noE "(^|[^A-Za-z0-9_./\$<>}-])(($code)/[A-Za-z0-9_/-]*\.(c|h|\[ch\])|(docs|tests|share|cmake)/[A-Za-z0-9_/-]*\.(c|h|\[ch\]|md|sh|rb|awk|def|cmake))" {} + |
            sed -E 's/^([^:]*:[0-9]+:)[^A-Za-z]*/\1/' | sort -u
    )
}

test_each_file_that_is_named_is_there() {
    named_files >"$work/named"
    [ "$(wc -l <"$work/named")" -gt 1000 ] || fail "only $(wc -l <"$work/named") names were found"
    sed 's/.*://' "$work/named" | sort -u | while read -r path; do
        file=$(echo "$path" | sed 's/\[ch\]$/h/')
        [ -e "$project/$file" ] || [ -e "$project/core/$file" ] || [ -e "$project/tests/unit/$file" ] ||
            grep -F ":$path" "$work/named"
    done >"$work/astray"
    equal 'named, and not there' "$(cat "$work/astray")" ''
}

run_tests
