# SPDX-License-Identifier: Apache-2.0
# Which programs that failed in what `ctest -V` printed tests/run tries again, alone: a name a line. Those of a whole lab of
# programs, which wait for each other on a machine that may be busy. Never what tells of more than time: a walk (a seed that finds
# something finds it once), a unit test of a library, a program that crashed, a sanitizer's report. system.nodes does it itself.
function may_be_late(program) {
    return program ~ /^(simulation[.]|unit[.]cli[.]|install[.]|guest[.]|scripts[.]test_acceptance|system[.])/ && program !~ /walk/ && program != "system.nodes"
}

# As sanitizers, cmocka and the simulated fabric say it; a shell adds 128 to the signal.
/^[0-9]+: .*(Sanitizer: |runtime error: |failed with exception: |ended by signal (4|6|7|8|11)|ended with 13[24569])/ {
    number = $0
    sub(/:.*/, "", number)
    reported[number]
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .*[*][*][*](Failed|Timeout) / {
    program = $0
    sub(/^[^#]*#/, "", program)
    number = program
    sub(/:.*/, "", number)
    sub(/^[0-9]+: /, "", program)
    sub(/ .*/, "", program)
    if (may_be_late(program) && !(number in reported))
        print program
}
