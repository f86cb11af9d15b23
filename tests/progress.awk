# SPDX-License-Identifier: Apache-2.0
# How far a stage of tests/run has come, from its log so far: one line,
#   DONE/ALL +NEW: the slowest programs that have ended since `seen` ("DONE/ALL"), or what runs
# Nothing where the log does not tell. It knows what ninja, ctest -V and valgrind_listed of tests/run print.
BEGIN {
    sub(/\/.*/, "", seen)
    seen += 0
}

# ninja: "[12/728] Building ..."
/^\[[0-9]+\/[0-9]+\] / {
    split(substr($1, 2), numbers, /[\/\]]/)
    done = numbers[1]
    all = numbers[2]
}

# ctest: "  Start  3: NAME", " 3/231 Test  #3: NAME .....   Passed    0.61 sec"
/^ +Start +[0-9]+: / {
    name = $0
    sub(/^ +Start +[0-9]+: /, "", name)
    started[name]
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .* sec/ {
    split($1, numbers, "/")
    done++
    all = numbers[2]
    name = $0
    sub(/^.* Test +#[0-9]+: /, "", name)
    sub(/ .*/, "", name)
    delete started[name]
    names[done] = name
    times[done] = $(NF - 1)
    failed[done] = $0 ~ /\*\*\*[^S]/
}

# valgrind_listed
/^of [0-9]+ programs$/ { all = $2 }
/^done / && all { names[++done] = $2 }

function word(i) {
    taken[i]
    return names[i] (failed[i] ? " FAILED" : "") (times[i] ? " " times[i] " s" : "")
}

END {
    if (!all)
        exit
    line = done + 0 "/" all
    for (i = seen + 1; i <= done; i++)
        if (failed[i])
            line = line (said++ ? ", " : " ") word(i)
    for (; said < 3; said++) {
        slowest = 0
        for (i = seen + 1; i <= done; i++)
            if ((i in names) && !(i in taken) && (!slowest || times[i] > times[slowest]))
                slowest = i
        if (!slowest)
            break
        line = line (said ? ", " : " ") word(slowest)
    }
    if (!said)
        for (name in started)
            line = line (said++ ? ", " : " running: ") name
    print line
}
