# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Whether a cluster has changed since all of it was asked for. To tell all, OneGate reads every member from oned: N members that
# ask cost N² reads. What OneFlow alone knows of its service costs each of them one.
#
# /run/oneib/cluster-seen has what was there then: a line "ASKED SINCE LACKING" - when all was asked for, and since when these
# facts are as they are, both in seconds of uptime; yes or no - and then cluster_facts.

# OneFlow does not tell of everything: after so many seconds all is asked for in any case. For as long after a change, all is
# asked for each time while something lacks that a member is to bring.
cluster_longest=600

# cluster_has_changed DIRECTORY: all of the cluster is to be asked for. Status 1: there is nothing new; 2: OneGate does not tell, which
# was said.
cluster_has_changed() (
    if given ONEGATE_ENDPOINT >/dev/null; then
        status=0
        onegate_outline "$1" || status=$?
        if [ "$status" -eq 1 ]; then
            files_are_of_this_vm && exit 2
            exit 0
        fi
    fi
    cluster_facts "$1" >"$1/facts"
    seen=${ONEIB_ROOT-}/run/oneib/cluster-seen
    is_seen "$1/facts" "$seen" || exit 0
    read -r asked since lacking <"$seen"
    now=$(uptime_seconds) && is_number "$asked" 0 "$now" && is_number "$since" 0 "$now" || exit 0
    [ $((now - asked)) -lt "$cluster_longest" ] || exit 0
    [ "$lacking" = no ] || [ $((now - since)) -ge "$cluster_longest" ] || exit 0
    exit 1
)

# cluster_note DIRECTORY STATUS: all has been asked for and written, with this status.
cluster_note() (
    seen=${ONEIB_ROOT-}/run/oneib/cluster-seen
    now=$(uptime_seconds) || {
        rm -f "$seen"
        exit
    }
    cluster_facts "$1" >"$1/facts"
    since=$now
    ! is_seen "$1/facts" "$seen" || read -r asked since lacking <"$seen"
    lacking=yes
    [ "$2" -ne 0 ] || members_lack_something "$1" || lacking=no
    printf '%s %s %s\n' "$now" "$since" "$lacking" | cat - "$1/facts" | write_when_it_differs "$seen" 0600
)

# is_seen FACTS FILE: they are those of the last time, in FILE.
is_seen() {
    [ -f "$2" ] && tail -n +2 "$2" | cmp -s - "$1"
}

# cluster_facts DIRECTORY: prints what the members' files are made of, as far as it is known without asking for each member, and what
# has become of them.
cluster_facts() (
    cksum "${ONEIB_ROOT-}/run/oneib/context" "${ONEIB_ROOT-}/proc/sys/kernel/hostname" "${ONEIB_ROOT-}"/run/oneib/nics/* \
        "${ONEIB_ROOT-}/etc/hosts" "${ONEIB_ROOT-}/etc/oneib/hostfile" 2>/dev/null || true
    told=$1/service
    [ -f "$told" ] || told=$1/outline
    # What is left of the whole answer is the outline.
    [ ! -f "$told" ] || grep -v '^[^	]*/vm_info' "$told" || true
)

# members_lack_something DIRECTORY: a VM of the service is no member, as it has no address yet, or a member that runs has not
# published what ONEIB_SSH needs.
members_lack_something() (
    [ -f "$1/service" ] || exit 1
    vms=$(grep -c '^/SERVICE/roles/\[[0-9]*\]/nodes/\[[0-9]*\]/deploy_id	' "$1/service") || true
    [ "$vms" -le "$(wc -l <"$1/members")" ] || exit 0
    ssh_is_wanted &&
        awk -F '\t' '$1 != "self" && $2 == 1 && ($6 == "-" || $7 == "-") { found = 1 } END { exit !found }' "$1/members"
)

# uptime_seconds: prints how long this machine is up: no clock that is set makes it older or younger.
uptime_seconds() (
    read -r uptime rest 2>/dev/null <"${ONEIB_ROOT-}/proc/uptime" || exit 1
    is_number "${uptime%%.*}" 0 999999999999 && printf '%s\n' "${uptime%%.*}"
)
