# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Bringing settings into force: with the network manager that the image has, so that they stay, and then with ip whatever that
# has left out. What an interface shall have is in /run/oneib/nics/NAME (see nics.sh); what of it is possible on this
# adapter, and goes to the managers, in /run/oneib/network/NAME; what it was given, in /run/oneib/given/NAME.
#
# network-X.sh has, for the manager X: X_is_used; X_write FILE..., which writes its files for these interfaces, removes ours
# of all others, and prints the names of interfaces whose files have changed; X_apply NAME..., which tells the running manager
# (status 1: it does not run); X_hide NAME..., which keeps it off these dummy interfaces, and prints their names if that is new.

# In the order in which they are looked for: one that comes earlier uses one that comes later.
network_managers='netplan networkmanager networkd ifupdown ip'

# network_apply [--boot] NAME...: these interfaces get what their settings say, all other ones lose what oneib gave
# them. With --boot, managers do not run yet: only their files are written. Status 1: something is missing, and that was said.
network_apply() (
    set -f
    boot=''
    if [ "${1-}" = --boot ]; then
        boot=yes
        shift
    fi
    mkdir -p "$(possible_directory)" "$(given_directory)" || exit 1
    status=0
    forget_others "$@"
    prepared=''
    for name; do
        if prepare_interface "$name"; then
            prepared="$prepared $(possible_directory)/$name"
        else
            status=1
        fi
    done
    manager=$(network_manager "$boot")
    # shellcheck disable=SC2086 # a list of files whose names have no blanks
    changed=$(write_files_of_managers "$manager" "$boot" $prepared) || status=1
    # shellcheck disable=SC2046 # a list of names
    changed="$changed $("${manager}_hide" $(dummy_names))" || status=1
    if [ -z "$boot" ] || [ "$manager" = ip ]; then
        # shellcheck disable=SC2086 # the same
        bring_into_force "$manager" "$changed" $prepared || status=1
    fi
    exit "$status"
)

possible_directory() {
    printf '%s\n' "${ONEIB_ROOT-}/run/oneib/network"
}

given_directory() {
    printf '%s\n' "${ONEIB_ROOT-}/run/oneib/given"
}

# network_manager [BOOT]: prints the manager that this image is to be configured with.
network_manager() (
    if named=$(setting NETWORK_MANAGER); then
        case $named in
        netplan | networkd | ifupdown | ip | networkmanager) printf '%s\n' "$named" && exit ;;
        NetworkManager | nm) echo networkmanager && exit ;;
        systemd-networkd) echo networkd && exit ;;
        none) echo ip && exit ;;
        *) say "NETWORK_MANAGER $named: is none that oneib knows ($network_managers); it looks which one is used" ;;
        esac
    fi
    for manager in $network_managers; do
        if [ "$manager" = ip ] && [ "${1-}" ] && networkmanager_is_enabled; then
            # OpenNebula's scripts tell it at each boot to leave everything alone, and take that back when it runs.
            manager=networkmanager
        elif ! "${manager}_is_used"; then
            continue
        fi
        echo "$manager"
        break
    done
)

# has_systemd: it is what this machine has booted with.
has_systemd() {
    [ -d "${ONEIB_ROOT-}/run/systemd/system" ]
}

# unit_is_used UNIT: systemd starts this, or has started it.
unit_is_used() {
    has_systemd || return 1
    systemctl is-enabled --quiet "$1" 2>/dev/null || systemctl is-active --quiet "$1" 2>/dev/null
}

# tell COMMAND...: tells a manager something. What that says is worth a line when it fails.
tell() {
    told=$("$@" 2>&1) || {
        say "$*: has failed: $told"
        return 1
    }
}

# --- settings

# setting_of FILE KEY: its value, if the file has one. settings_of FILE KEY: all of them, one a line.
setting_of() {
    while IFS= read -r setting_line; do
        case $setting_line in
        "$2"=*)
            printf '%s\n' "${setting_line#*=}"
            break
            ;;
        esac
    done <"$1"
}

settings_of() {
    while IFS= read -r setting_line; do
        case $setting_line in
        "$2"=*) printf '%s\n' "${setting_line#*=}" ;;
        esac
    done <"$1"
}

# addresses_of FILE 4|6; dns_of FILE 4|6: those of one family.
addresses_of() {
    settings_of "$1" address | of_family "$2"
}

dns_of() {
    settings_of "$1" dns | of_family "$2"
}

of_family() {
    case $1 in
    4) sed '/:/d' ;;
    6) sed -n '/:/p' ;;
    esac
}

# routes_of FILE [4|6]: gateways and routes, a line each: "FAMILY DESTINATION GATEWAY METRIC" (a gateway's; "-" if there is none).
routes_of() {
    {
        via=$(setting_of "$1" gateway)
        [ -z "$via" ] || echo "4 0.0.0.0/0 $via $(setting_of "$1" metric)"
        via=$(setting_of "$1" gateway6)
        [ -z "$via" ] || echo "6 ::/0 $via $(setting_of "$1" metric6)"
        settings_of "$1" route | sed 's/ via / /; s/$/ -/; /:/!s/^/4 /; /:/s/^/6 /'
    } | sed -n "/^${2:-.} /p"
}

# is_setting KEY VALUE: what nics.sh writes. It has looked at where these came from; here it counts that none can be more than
# a value in a manager's file.
is_setting() {
    case $1 in
    interface) is_interface_name "$2" ;;
    nic) [ "$2" = - ] || is_host_name "$2" ;;
    guid | index) is_host_name "$2" ;;
    mode) [ "$2" = datagram ] || [ "$2" = connected ] ;;
    mtu) is_number "$2" 68 65520 ;;
    address) is_ipv4_prefix "$2" || is_ipv6_prefix "$2" ;;
    gateway) is_ipv4 "$2" ;;
    gateway6) is_ipv6 "$2" ;;
    metric | metric6) is_number "$2" 0 4294967295 ;;
    ip6) [ "$2" = auto ] || [ "$2" = disable ] ;;
    route) is_route "$2" ;;
    dns) is_ipv4 "$2" || is_ipv6 "$2" ;;
    search) is_domain "$2" ;;
    *) return 1 ;;
    esac
}

is_route() {
    case $1 in
    *:*' via '*:*) is_ipv6_prefix "${1%% *}" && is_ipv6 "${1##* via }" ;;
    *' via '*) is_ipv4_prefix "${1%% *}" && is_ipv4 "${1##* via }" ;;
    *) return 1 ;;
    esac
}

# settings_are_sound FILE
settings_are_sound() (
    [ -f "$1" ] || {
        say "${1##*/}: has no settings in $1: call 'oneib-guest network', which writes them"
        exit 1
    }
    while IFS= read -r line; do
        case $line in
        *=*) is_setting "${line%%=*}" "${line#*=}" && continue ;;
        esac
        say "${1##*/}: '$line' in $1 is no setting; nothing is done on this interface: call 'oneib-guest network' again"
        exit 1
    done <"$1"
)

# --- what this adapter can do

# prepare_interface NAME: sets mode and MTU, which no manager does everywhere, and writes what its manager is to be told.
prepare_interface() (
    wanted=${ONEIB_ROOT-}/run/oneib/nics/$1
    settings_are_sound "$wanted" || exit 1
    ip -o link show dev "$1" >/dev/null 2>&1 || {
        say "$1: is not there any more; when it comes back, it is configured"
        exit 1
    }
    mode=$(bring_mode "$1" "$(setting_of "$wanted" mode)")
    mtu=$(setting_of "$wanted" mtu)
    if [ "$mtu" ]; then mtu=$(bring_mtu "$1" "$mode" "$mtu" "$(setting_of "$wanted" mode)"); fi
    {
        sed '/^mode=/d; /^mtu=/d; /^metric6*=/d' "$wanted"
        [ -z "$mode" ] || echo "mode=$mode"
        [ -z "$mtu" ] || echo "mtu=$mtu"
        echo "metric=$(metric_of "$wanted" metric)"
        echo "metric6=$(metric_of "$wanted" metric6)"
    } | replace_file "$(possible_directory)/$1" || [ $? -eq 1 ]
)

# bring_mode NAME [MODE]: prints the mode that the interface then has, nothing if it knows no modes.
bring_mode() (
    file=${ONEIB_ROOT-}/sys/class/net/$1/mode
    if [ "${2-}" ] && [ -e "$file" ] && [ "$(cat "$file")" != "$2" ]; then write_mode "$file" "$2"; fi
    mode=''
    if [ -e "$file" ]; then mode=$(cat "$file"); fi
    if [ "${2-}" = connected ] && [ "$mode" != connected ]; then
        say "$1: its adapter has no connected mode; it stays in datagram mode, with the highest MTU there." \
            "IPOIB_MODE = \"datagram\" and an MTU of at most 4092 for this NIC end this message"
    fi
    echo "$mode"
)

write_mode() {
    # The shell would tell of a refusal in its own words.
    { echo "$2" >"$1"; } 2>/dev/null || true
}

# bring_mtu NAME MODE MTU WANTED-MODE: prints the MTU to ask for: in datagram mode it is that of a packet of the fabric, less 4.
bring_mtu() (
    wanted=$3
    if [ "$2" != connected ] && [ "$3" -gt 4092 ]; then
        [ "$4" = connected ] ||
            say "$1: MTU $3 needs connected mode (IPOIB_MODE); it gets the highest MTU of datagram mode"
        wanted=4092
    fi
    [ "$(mtu_of "$1")" = "$wanted" ] || ip link set dev "$1" mtu "$wanted" >/dev/null 2>&1 || true
    # Where nobody has asked for 4092, 2044 will do.
    if [ "$wanted" != "$3" ] && [ "$(mtu_of "$1")" != "$wanted" ]; then
        wanted=2044
        ip link set dev "$1" mtu "$wanted" >/dev/null 2>&1 || true
    fi
    echo "$wanted"
)

mtu_of() {
    ip -o link show dev "$1" 2>/dev/null | mtu_in
}

mtu_in() {
    sed -n 's/.* mtu \([0-9]*\) .*/\1/p'
}

# metric_of FILE metric|metric6: without one, a gateway on InfiniBand is the second choice. Ethernet's metrics go up to 1024
# with every manager; and two NICs do not have the same.
metric_of() (
    metric=$(setting_of "$1" "$2")
    number=$(setting_of "$1" nic | tr -cd 0-9)
    echo "${metric:-$((2048 + ${number:-0}))}"
)

# --- files

# write_files_of_managers MANAGER BOOT FILE...: prints the names of the interfaces whose files of this manager have changed.
# One that was used before loses its files.
write_files_of_managers() (
    chosen=$1 boot=$2
    shift 2
    status=0
    for each in $network_managers; do
        if [ "$each" = "$chosen" ]; then
            "${each}_write" "$@" || status=1
            continue
        fi
        left=$("${each}_write") || status=1
        # shellcheck disable=SC2086 # a list of names
        [ -z "$left" ] || [ "$boot" ] || "${each}_apply" $left || true
    done
    exit "$status"
)

# write_interface_files DIRECTORY PREFIX SUFFIX MODE FORMAT FILE...: each interface's file is DIRECTORY/PREFIX NAME SUFFIX, and has
# what the function FORMAT prints of its settings. Prints the names of those that are new, other, or gone.
write_interface_files() (
    directory=${ONEIB_ROOT-}$1 prefix=$2 suffix=$3 mode=$4 format=$5
    shift 5
    status=0
    if [ $# -gt 0 ]; then mkdir -p "$directory" || exit 1; fi
    remove_other_files "$directory" "$prefix" "$suffix" "$@"
    for file; do
        name=${file##*/}
        replaced=0
        "$format" "$file" | replace_file "$directory/$prefix$name$suffix" "$mode" || replaced=$?
        case $replaced in
        0) echo "$name" ;;
        1) ;;
        *) status=1 ;;
        esac
    done
    exit "$status"
)

# remove_other_files DIRECTORY PREFIX SUFFIX FILE...: prints the names.
remove_other_files() (
    set +f
    directory=$1 prefix=$2 suffix=$3
    shift 3
    for old in "$directory/$prefix"*"$suffix"; do
        [ -f "$old" ] || continue
        name=${old#"$directory/$prefix"}
        name=${name%"$suffix"}
        for file; do [ "${file##*/}" != "$name" ] || continue 2; done
        rm -f "$old" && echo "$name"
    done
)

# hide_in_file FILE FORMAT NAME...: the file that keeps a manager off dummy interfaces; without one there is no file. Prints the
# names when it has changed.
hide_in_file() (
    file=${ONEIB_ROOT-}$1 format=$2
    shift 2
    if [ $# -eq 0 ]; then
        rm -f "$file"
        exit
    fi
    mkdir -p "${file%/*}" || exit 1
    replaced=0
    "$format" "$@" | replace_file "$file" || replaced=$?
    [ "$replaced" -ne 0 ] || echo "$*"
    [ "$replaced" -lt 2 ]
)

made_by_oneib() {
    echo "# Made by oneib-guest, which writes it again at each boot and change of the context."
}

mac_of() {
    cat "${ONEIB_ROOT-}/sys/class/net/$1/address"
}

# --- in force

# bring_into_force MANAGER CHANGED FILE...: CHANGED are names of interfaces that the manager is to be told of.
bring_into_force() (
    manager=$1 told=$2
    shift 2
    for file; do
        [ -z "$(lacks "$file")" ] || told="$told ${file##*/}"
    done
    # shellcheck disable=SC2086 # a list of names
    set -- "$manager" "$(printf '%s\n' $told | sort -u)" "$@"
    # shellcheck disable=SC2086
    if [ "$2" ] && "$1"_apply $2; then
        shift 2
        wait_for_manager "$@"
    else
        shift 2
    fi
    status=0
    for file; do
        take_back "${file##*/}" "$file"
        complete_interface "$file" || status=1
        cp "$file" "$(given_directory)/${file##*/}"
    done
    silence_dummies
    exit "$status"
)

# wait_for_manager FILE...: until the interfaces have what they shall have, or for as long as is reasonable.
wait_for_manager() (
    until=$(($(date +%s) + $(wait_seconds)))
    for file; do
        while [ "$(lacks "$file")" ] && [ "$(date +%s)" -lt "$until" ]; do sleep 1; done
    done
)

# lacks FILE: prints what the kernel has not of these settings, a line each.
lacks() (
    name=${1##*/}
    link=$(ip -o link show dev "$name" 2>/dev/null) || {
        echo interface
        exit
    }
    disable_ipv6=${ONEIB_ROOT-}/proc/sys/net/ipv6/conf/$name/disable_ipv6
    disabled=0
    if [ -e "$disable_ipv6" ]; then disabled=$(cat "$disable_ipv6"); fi
    if [ "$(setting_of "$1" ip6)" = disable ]; then
        [ ! -e "$disable_ipv6" ] || [ "$disabled" = 1 ] || echo ip6 disable
    elif [ "$disabled" = 1 ] && [ "$(setting_of "$1" ip6)$(addresses_of "$1" 6)" ]; then
        echo ip6 enable
    fi
    mtu=$(setting_of "$1" mtu)
    [ -z "$mtu" ] || [ "$(printf '%s\n' "$link" | mtu_in)" = "$mtu" ] || echo "mtu $mtu"
    case $link in
    *[\<,]UP[,\>]*) ;;
    *) echo up ;;
    esac
    present=" $(ip -o addr show dev "$name" 2>/dev/null | awk '{ printf "%s ", $4 }')"
    settings_of "$1" address | while read -r address; do
        case $present in
        *" $(canonical_address "$address") "*) ;;
        *) echo "address $address" ;;
        esac
    done
    routes_of "$1" | while read -r family to via metric; do
        has_route "$name" "$family" "$to" "$via" "$metric" || echo "route $family $to $via $metric"
    done
)

# canonical_address ADDRESS/LENGTH: as the kernel prints it.
canonical_address() {
    case $1 in
    *:*) echo "$(canonical_ipv6 "${1%/*}")/${1##*/}" ;;
    *) echo "$1" ;;
    esac
}

# canonical_destination PREFIX: as "ip route" prints it.
canonical_destination() {
    case $1 in
    */0) echo default ;;
    *:*/128) canonical_ipv6 "${1%/*}" ;;
    *:*) canonical_address "$1" ;;
    */32) echo "${1%/32}" ;;
    *) echo "$1" ;;
    esac
}

# has_address NAME ADDRESS/LENGTH
has_address() (
    wanted=$(canonical_address "$2")
    [ "$(ip -o addr show dev "$1" 2>/dev/null | awk -v wanted="$wanted" '$4 == wanted { print "yes"; exit }')" ]
)

# has_route NAME FAMILY DESTINATION GATEWAY METRIC
has_route() (
    via=$4
    if [ "$2" = 6 ]; then via=$(canonical_ipv6 "$4"); fi
    [ "$(ip "-$2" -o route show dev "$1" 2>/dev/null |
        awk -v to="$(canonical_destination "$3")" -v via="$via" -v metric="$5" '
        $1 == to && $2 == "via" && $3 == via {
            # The kernel does not tell of a metric of 0.
            has = 0
            for (i = 4; i < NF; i++)
                if ($i == "metric")
                    has = $(i + 1)
            if (metric == "-" || metric == has || (metric == 0 && has == 1024)) {
                print "yes"
                exit
            }
        }')" ]
)

# complete_interface FILE: gives the interface with ip what it lacks, and says what cannot be given.
complete_interface() (
    missing=$(lacks "$1")
    [ "$missing" ] || exit 0
    printf '%s\n' "$missing" | while IFS= read -r what; do set_with_ip "${1##*/}" "$what" >/dev/null 2>&1 || true; done
    missing=$(lacks "$1" | while IFS= read -r what; do
        said=$(set_with_ip "${1##*/}" "$what" 2>&1) || true
        lacks "$1" | grep -Fqx -e "$what" || continue
        say "${1##*/}: $(tell_of "$what") is missing${said:+ ($said)}: $(fix_for "$what")"
        echo "$what"
    done)
    [ -z "$missing" ]
)

# set_with_ip NAME WHAT: WHAT as lacks prints it.
set_with_ip() (
    name=$1
    # shellcheck disable=SC2086 # words of values that have no blanks
    set -- $2
    case $1 in
    ip6) write_ipv6_setting "$name" disable_ipv6 "$([ "$2" = enable ] && echo 0 || echo 1)" ;;
    mtu) ip link set dev "$name" mtu "$2" ;;
    up) ip link set dev "$name" up ;;
    address)
        case $2 in
        *:*) ip -6 addr add "$2" dev "$name" ;;
        *) ip -4 addr add "$2" brd + dev "$name" ;;
        esac
        ;;
    route)
        if [ "$5" = - ]; then
            ip "-$2" route add "$3" via "$4" dev "$name"
        else
            ip "-$2" route add "$3" via "$4" dev "$name" metric "$5"
        fi
        ;;
    *) exit 1 ;;
    esac
)

write_ipv6_setting() {
    { echo "$3" >"${ONEIB_ROOT-}/proc/sys/net/ipv6/conf/$1/$2"; } 2>/dev/null
}

tell_of() (
    # shellcheck disable=SC2086 # the same
    set -- $1
    case $1 in
    interface) echo "the interface" ;;
    ip6) echo "IPv6 ${2}d" ;;
    mtu) echo "MTU $2" ;;
    up) echo "being up" ;;
    address) echo "address $2" ;;
    route) echo "route $(canonical_destination "$3") via $4" ;;
    esac
)

fix_for() {
    case $1 in
    mtu*) echo "ask for a smaller MTU on this NIC, or have the partition's MTU raised" ;;
    address*) echo "see with 'ip address' whether something else has it; a small MTU forbids IPv6" ;;
    route*) echo "the gateway has to be in one of this NIC's networks, and no other route may have its metric (METRIC)" ;;
    ip6*) echo "start the VM's kernel with IPv6, or leave IP6_METHOD away" ;;
    *) echo "see what the kernel says of it (dmesg)" ;;
    esac
}

# take_back NAME [FILE]: takes away the addresses and routes that oneib gave and that these settings do not have.
take_back() (
    given=$(given_directory)/$1
    [ -f "$given" ] || exit 0
    kept=/dev/null
    if [ $# -gt 1 ]; then kept=$2; fi
    routes_of "$given" | while read -r family to via metric; do
        if routes_of "$kept" | grep -Fqx -e "$family $to $via $metric"; then continue; fi
        has_route "$1" "$family" "$to" "$via" "$metric" || continue
        ip "-$family" route del "$to" via "$via" dev "$1" >/dev/null 2>&1 || true
    done
    # Else the first address of a network would take the others of that network with it.
    { echo 1 >"${ONEIB_ROOT-}/proc/sys/net/ipv4/conf/$1/promote_secondaries"; } 2>/dev/null || true
    settings_of "$given" address | while read -r address; do
        if settings_of "$kept" address | grep -Fqx -e "$address"; then continue; fi
        has_address "$1" "$address" || continue
        ip addr del "$address" dev "$1" >/dev/null 2>&1 ||
            say "$1: address $address is not wanted any more, and cannot be taken away: see what 'ip addr del' says"
    done
)

# forget_others NAME...: interfaces that are not ours any more, or not there.
forget_others() (
    set +f
    for directory in "$(given_directory)" "$(possible_directory)"; do
        for old in "$directory"/*; do
            [ -f "$old" ] || continue
            for name; do [ "${old##*/}" != "$name" ] || continue 2; done
            [ "$directory" != "$(given_directory)" ] || take_back "${old##*/}"
            rm -f "$old"
        done
    done
)

# silence_dummies: a dummy interface has no network behind it. An address that OpenNebula's own scripts have given it is that
# of the IPoIB interface.
silence_dummies() (
    for name in $(dummy_names); do
        [ -z "$(ip -o addr show dev "$name")" ] || ip addr flush dev "$name" >/dev/null 2>&1 || true
        hide_dummy "$name"
    done
)

dummy_names() (
    set +f
    dummy_interfaces | cut -d ' ' -f 3
)
