# SPDX-License-Identifier: Apache-2.0
# Counts the single cmocka tests in what `ctest -V` printed. Prints one line a test:
#   passed<TAB>NAME    failed<TAB>NAME<TAB>HOW    skipped<TAB>NAME<TAB>REASON
# NAME is PROGRAM: TEST. A program that failed or ended without saying which of its tests did is one failure; a program without
# cmocka tests is one test. A skip without a reason is a failure.

function after(line, tag,    at) {
    at = index(line, tag)
    return at ? substr(line, at + length(tag)) : ""
}

function report(number, verdict, test, why) {
    if (verdict == "skipped" && why == "") {
        verdict = "failed"
        why = "it was skipped without a reason"
    }
    pending[number] = pending[number] verdict "\t" test "\t" why "\n"
    counted[number]++
    if (verdict == "failed")
        failures[number]++
}

# A line that the program with this number printed.
function output(number, line,    test) {
    test = after(line, "[ RUN      ] ")
    if (test != "") {
        running[number] = test
        notes[number] = ""
    } else if (running[number] == "") {
        # cmocka's summary, which names tests a second time, or a program of another kind: its last line says why
        if (line != "")
            notes[number] = line
    } else if (after(line, "[       OK ] ") == running[number]) {
        report(number, "passed", running[number], "")
        running[number] = ""
    } else if (after(line, "[  FAILED  ] ") == running[number]) {
        report(number, "failed", running[number], notes[number])
        running[number] = ""
    } else if (after(line, "[  SKIPPED ] ") == running[number]) {
        report(number, "skipped", running[number], notes[number])
        running[number] = ""
    } else if (line != "") {
        notes[number] = notes[number] (notes[number] == "" ? "" : "; ") line
    }
}

# The program has ended.
function result(number, program, verdict,    lines, i, count) {
    if (running[number] != "")
        report(number, "failed", running[number], "the program ended in the middle: " verdict)
    else if (verdict == "skipped" && !counted[number])
        report(number, "skipped", "(whole program)", notes[number])
    else if (verdict != "passed" && verdict != "skipped" && !failures[number])
        report(number, "failed", "(whole program)", verdict ": " notes[number])
    else if (!counted[number])
        report(number, "passed", "(whole program)", "")

    count = split(pending[number], lines, "\n")
    for (i = 1; i < count; i++) {
        sub("\t", "\t" program ": ", lines[i])
        print lines[i]
    }
}

/^[0-9]+: / {
    number = $0
    sub(/:.*/, "", number)
    sub(/^[0-9]+: /, "")
    output(number, $0)
    next
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    number = $0
    sub(/^[^#]*#/, "", number)
    program = number
    sub(/:.*/, "", number)
    sub(/^[0-9]+: /, "", program)
    verdict = program
    sub(/ .*/, "", program)
    if (verdict ~ / Passed +[0-9.]+ sec/)
        verdict = "passed"
    else if (verdict ~ /\*\*\*Skipped/)
        verdict = "skipped"
    else {
        sub(/^[^*]*\*\*\*/, "", verdict)
        sub(/ +[0-9.]+ sec.*/, "", verdict)
    }
    result(number, program, verdict)
}
