# SPDX-License-Identifier: Apache-2.0
# What counts after a second try: of the results of all tests (the second file, as count.awk prints them, with the build before the
# name) all but those of one program, instead of these what its second try gave (the first file), and where that has passed, that
# there was a first one, as a test that was skipped.
#   awk -v program="dev simulation.test_x" -f tests/second.awk SECOND ALL
BEGIN { FS = OFS = "\t" }

function is_of_the_program() {
    return index($2, program ": ") == 1
}

NR == FNR {
    second[++count] = $0
    if ($1 == "failed")
        failed_again = 1
    next
}

!is_of_the_program() {
    print
    next
}

$1 == "failed" {
    first = first (first ? "; " : "") substr($2, length(program) + 3) ($3 != "" ? ": " $3 : "")
}

END {
    for (i = 1; i <= count; i++)
        print second[i]
    if (!failed_again)
        print "skipped", program ": the first try", "it failed: " substr(first, 1, 300) "; what counts is the second, alone"
}
