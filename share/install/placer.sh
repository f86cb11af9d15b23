# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The front-end: OpenNebula 7's scheduler asks oneib's placer, docs/operator-placement.md. Of several SCHED_MAD oned takes
# the first one, so ours is at the beginning of oned.conf; what the operator has there stays as it is, and counts again
# when ours is gone.

# shellcheck disable=SC2034 # oned-conf.sh uses them
placer_begin='# BEGIN oneib placer: written by its install.sh --scheduler, which takes it out again; change nothing up to END'
placer_end='# END oneib placer'

placer_fix='write "-p ib" into the ARGUMENTS of the first SCHED_MAD by hand instead (docs/operator-placement.md)'

# value_of KEY VECTOR: what stands between its quotes.
value_of() {
    say "$2" | sed -n "s/.*[[,[:space:]]$1[[:space:]]*=[[:space:]]*\"\\([^\"]*\\)\".*/\\1/p"
}

# A vector that has these two keys and nothing else, whatever their order.
is_plain_sched_mad() {
    say "$1" | tr -d ' \t' | grep -qixE \
        'SCHED_MAD=\[(EXECUTABLE="one_sched",ARGUMENTS="[^"]*"|ARGUMENTS="[^"]*",EXECUTABLE="one_sched")\]'
}

# placer_of WORDS...: the last -p among one_sched's arguments, as it reads them; fails where they say it in yet another way.
placer_of() {
    placer=rank
    while [ $# -gt 0 ]; do
        case $1 in
        -p | --placer)
            [ $# -gt 1 ] || return 1
            placer=$2
            shift
            ;;
        --placer=*) placer=${1#--placer=} ;;
        -p* | --p* | --) return 1 ;;
        esac
        shift
    done
    say "$placer"
}

# The same words without a placer.
without_placer() { # WORDS...
    words=
    while [ $# -gt 0 ]; do
        case $1 in
        -p | --placer) shift ;;
        --placer=*) ;;
        *) words="$words $1" ;;
        esac
        shift
    done
    say "$words"
}

# The SCHED_MAD that is to be first, to $work/placer: the operator's first one with another placer. Empty where that one
# has ours already. Refuses what is not understood.
make_placer() { # FILE: an oned.conf without our blocks
    first=$(first_vector SCHED_MAD "$1")
    [ -n "$first" ] || fail "$oned_conf has no SCHED_MAD = [ ... ], as OpenNebula 7 has one: leave out --scheduler" \
        "(OpenNebula 6.10 places VMs by itself)"
    is_plain_sched_mad "$first" || fail "the first SCHED_MAD of $oned_conf is not as OpenNebula writes it, EXECUTABLE" \
        "= \"one_sched\" and ARGUMENTS alone: $placer_fix"
    arguments=$(value_of ARGUMENTS "$(say "$first" | sed 's/arguments/ARGUMENTS/I')")
    case $arguments in
    *[!A-Za-z0-9' '_./=:-]*) fail "the ARGUMENTS of the first SCHED_MAD of $oned_conf are not understood: $placer_fix" ;;
    esac
    # shellcheck disable=SC2086 # words of these characters alone
    there=$(placer_of $arguments) ||
        fail "the ARGUMENTS of the first SCHED_MAD of $oned_conf are not understood: $placer_fix"
    case $there in
    ib)
        say "the first SCHED_MAD of $oned_conf asks the placer ib already"
        : >"$work/placer"
        return 0
        ;;
    rank) ;;
    *) fail "the first SCHED_MAD of $oned_conf asks the placer $there, and ib would ask rank in its place: leave out" \
        "--scheduler to keep it, or else $placer_fix" ;;
    esac
    # shellcheck disable=SC2086 # as above
    cat >"$work/placer" <<END
$placer_begin
SCHED_MAD = [
    EXECUTABLE = "one_sched",
    ARGUMENTS  = "$(without_placer $arguments | sed 's/^ //') -p ib"
]
$placer_end
END
}
