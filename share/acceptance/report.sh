# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The report: rows, and what became of the guesses. What is in it are this script's own words, and names, numbers, keys and
# versions that were taken out of answers one by one; never what a program has said.

failed=0
unshown=0

line() {
    printf '%s\n' "$*" || exit 2
}

# row RESULT WHAT [DETAIL]: ok; FAILED; not shown, which is no success; left out, which does not count.
row() {
    columns=$(printf '%-9s  %-10s  %-30s  %s' "$1" "$stage" "$2" "${3-}")
    line "${columns%"${columns##*[! ]}"}"
    case $1 in
    FAILED) failed=$((failed + 1)) ;;
    'not shown') unshown=$((unshown + 1)) ;;
    esac
}

# settle GUESS yes|no TEXT: by what was seen. A no is not taken back.
settle() {
    [ ! -f "$work/guess/$1" ] || ! grep -q '^no' "$work/guess/$1" || return 0
    echo "$2 $3" >"$work/guess/$1"
}

# The adapters that there are at the two hosts: mlx4, mlx5.
drivers() {
    sed -n 's/^.*\/driver	\(mlx[45]\)$/\1/p' "$work/hca-$host1" "$work/hca-$host2" | sort -u
}

concerns_site() { # WHOM
    case $1 in
    all) return 0 ;;
    ufm | opensm | nvidia-opensm) [ "$sm_kind" = "$1" ] ;;
    *) drivers | grep -qx "$1" ;;
    esac
}

report_guesses() {
    line
    line "What this run could settle of what oneib only guesses:"
    grep -v '^#' "$here/guesses" >"$work/guesses"
    while IFS='|' read -r name whom page text; do
        if [ -f "$work/guess/$name" ]; then
            read -r verdict said <"$work/guess/$name"
            case $verdict in
            yes) verdict='settled, true' ;;
            *) verdict='settled, WRONG' ;;
            esac
        elif concerns_site "$whom"; then
            verdict='not settled' said="nothing in this run said so"
        else
            verdict='not settled' said="it concerns $whom, which is not here"
        fi
        line "  $name: $verdict: $said"
        line "      $text ($page)"
    done <"$work/guesses"
}

report_host() { # HOST
    line "host $1: $(tr '\n' ' ' <"$work/facts-$1" | sed 's/boot [^ ]* //; s/ $//'), driver $(
        sed -n 's/^.*\/driver	\(mlx[45]\)$/\1/p' "$work/hca-$1" | sort -u | tr '\n' ' ' | sed 's/ $//'
    )"
}

begin_report() {
    line "oneib acceptance, $(date -u +%Y-%m-%dT%H:%MZ)"
    line "oneib ${oneib_version:-?}, OpenNebula $(opennebula_version), subnet manager ${sm_kind:-?}"
    report_host "$host1"
    report_host "$host2"
    line "a1 and b1 are on $host1, a2 and b2 on $host2; cluster a is $key_a, cluster b $key_b"
    line
    line "RESULT     STAGE       WHAT                            DETAIL"
}

end_report() {
    report_guesses
    line
    if [ $failed -gt 0 ]; then
        line "FAILED: $failed rows failed, $unshown show nothing"
        exit 1
    elif [ $unshown -gt 0 ]; then
        line "NOT SHOWN: no row failed, but $unshown show nothing"
        exit 1
    fi
    line "ok"
    exit 0
}
