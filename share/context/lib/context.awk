# SPDX-License-Identifier: Apache-2.0
# Reads a file of shell assignments as data: OpenNebula's context, NAME='value', where a value may have several lines and a
# quote in it is written '\''; and oneib's guest.conf, where a value may also be bare or in double quotes, without any escapes.
# Newlines in a value become spaces. The last of two assignments counts. A variable without its closing quote, and a line that
# is none of this, are left out.
#
#   -v name=NAME        prints this variable's value; exit 1 when there is none
#   -v prefix=PREFIX    prints NAME=value, one a line, of all variables whose names begin with this (which is taken off)
#   -v check=1          prints what is left out, and why
#   -v ours=1           prints the variables that oneib reads, as a context has them, NAME='value' in one line each
#   -v ends=1           exit 1 when the file ends within a value
#
# The input is to have no control characters but newlines and tabs, which become spaces (context.sh takes them out).

BEGIN {
    # A longer value would not fit into an argument of a command.
    longest = 65536
    read_by_oneib = "^(ETH[0-9]+_.*|PCI[0-9]+_.*|IPOIB_MODE|NETWORK_MANAGER|ONEGATE_(CA|ENDPOINT)|ONEIB_.*|USERNAME|VMID" \
        "|DISK_ID|TARGET)$"
}

{ gsub(/\t/, " ") }
open != "" { keep(" "); inside($0); next }
/^[ ]*(#|$)/ { next }
/^[A-Za-z_][A-Za-z0-9_]*=/ {
    equals = index($0, "=")
    begin(substr($0, 1, equals - 1))
    value = substr($0, equals + 1)
    if (substr(value, 1, 1) == "'")
        inside(substr(value, 2))
    else
        bare(value)
    next
}
{ complain("line " NR ": is no NAME='value'") }

END {
    if (open != "")
        complain(open ": has no closing quote: the file is truncated")
    if (name != "") {
        if (!(name in length_of))
            exit 1
        show(name)
    } else if (check) {
        if (complaints > 20)
            print complaints - 20 " more of this kind"
    } else if (ends) {
        exit open != ""
    } else if (ours) {
        for (i = 1; i <= names; i++)
            if (order[i] ~ read_by_oneib)
                show_as_written(order[i])
    } else {
        for (i = 1; i <= names; i++)
            if (substr(order[i], 1, length(prefix)) == prefix) {
                printf "%s=", substr(order[i], length(prefix) + 1)
                show(order[i])
            }
    }
}

# Garbage has many lines that are none of this; a log is to have few of them.
function complain(what) {
    if (check && ++complaints <= 20)
        print what
}

function begin(variable) {
    open = variable
    pieces = 0
    size = 0
}

function keep(text) {
    if (size <= longest)
        piece[++pieces] = text
    size += length(text)
}

# What follows is within single quotes. Text is kept in pieces: putting a long value together piece by piece would take
# time that grows with its square.
function inside(text,    parts, i, n) {
    n = split(text, parts, "'")
    if (n == 0)
        return
    keep(parts[1])
    for (i = 2; i <= n; i++) {
        if (parts[i] == "\\" && parts[i + 1] == "" && i + 2 <= n) {
            keep("'")
            keep(parts[i += 2])
        } else {
            if (i == n && parts[i] ~ /^ *$/)
                finish()
            else
                refuse("has something after its closing quote")
            return
        }
    }
}

function bare(text) {
    sub(/ +$/, "", text)
    if (text ~ /^"[^"]*"$/)
        text = substr(text, 2, length(text) - 2)
    else if (text ~ /["' ]/) {
        refuse("has quotes or spaces where none belong")
        return
    }
    keep(text)
    finish()
}

function refuse(why) {
    complain(open ": " why)
    open = ""
}

function finish(    i) {
    if (size > longest) {
        refuse("is longer than " longest " characters")
        return
    }
    if (!(open in length_of))
        order[++names] = open
    length_of[open] = pieces
    for (i = 1; i <= pieces; i++)
        value_of[open, i] = piece[i]
    open = ""
}

function show_as_written(variable,    i, j, n, parts) {
    printf "%s='", variable
    for (i = 1; i <= length_of[variable]; i++) {
        n = split(value_of[variable, i], parts, "'")
        for (j = 1; j <= n; j++)
            printf "%s%s", j == 1 ? "" : "'\\''", parts[j]
    }
    print "'"
}

function show(variable,    i) {
    for (i = 1; i <= length_of[variable]; i++)
        printf "%s", value_of[variable, i]
    printf "\n"
}
