# SPDX-License-Identifier: Apache-2.0
# The seconds of a processor that a stage of tests/run took: of what a shell's `times` printed at its end (the first file), and of what
# the stage's log (the second) says of programs that nobody waits for: "... had 551 s of a processor".
function seconds(time,    parts) {
    split(time, parts, /[ms]/)
    return parts[1] * 60 + parts[2]
}

NR == FNR {
    sum += seconds($1) + seconds($2)
    next
}

/ had [0-9]+ s of a processor$/ { sum += $(NF - 4) }

END { printf "%d\n", sum }
