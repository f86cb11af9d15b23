# SPDX-License-Identifier: Apache-2.0
# Reads /etc/hosts without oneib's block. `own` is this machine's host name, or empty.
#
#   -v show=names                   names in it, "NAME", or "NAME own" of this machine's name on a loopback address
#   -v show=off                     for sed: switches off the lines that give this machine's name a loopback address
#   -v show=block ... part=members  the block: members (lines of members.awk); this VM's with its own names, and what else was
#                                    in the lines that are switched off
#
#   awk -v show=... -v own=... -f hosts.awk part=others OTHERS [part=members FS="\t" MEMBERS]

BEGIN {
    short = own
    sub(/\..*/, "", short)
}

part == "members" {
    if ($1 == "self")
        print $4 names_of_self($5)
    else
        print $4 " " $5
    next
}

{
    line = tolower($0)
    sub(/[#\r].*/, "", line)
    words = split(line, word, " ")
    loopback = word[1] ~ /^127\./ || word[1] == "::1"
    has_own = others = ""
    for (i = 2; i <= words; i++) {
        is_own = loopback && is_own_name(word[i])
        if (show == "names")
            print word[i] (is_own ? " own" : "")
        if (is_own)
            has_own = has_own " " word[i]
        else
            others = others " " word[i]
    }
    if (has_own == "")
        next
    own_names = own_names has_own
    if (show == "off")
        print FNR "s/^/#oneib /"
    if (show == "block" && others != "")
        print word[1] others
}

function is_own_name(name) {
    return own != "" && (name == own || name == short || index(name, short ".") == 1)
}

# The first is the canonical one: a full name when there was one, so that `hostname -f` stays what it was.
function names_of_self(member,    all, i, n, name, said, text) {
    n = split(own_names " " own " " short " " member, all, " ")
    text = ""
    for (i = 1; i <= n; i++)
        if (!(all[i] in said)) {
            said[all[i]] = 1
            text = text " " all[i]
        }
    return text
}
