# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The front-end: oneib's settings in oned.conf.

begin='# BEGIN oneib: written by its install.sh, which takes it out again; change nothing up to END oneib'
end='# END oneib'

# vectors SETTING FILE: prints each SETTING = [ ... ] of FILE on a line of its own, comments left out.
vectors() {
    awk -v setting="$1" '
        function without_comment(line,    i, c, quoted) {
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"")
                    quoted = !quoted
                else if (c == "#" && !quoted)
                    return substr(line, 1, i - 1)
            }
            return line
        }
        { text = text " " without_comment($0) }
        END {
            vector = "[ \t]" setting "[ \t]*=[ \t]*\\[[^]]*\\]"
            while (match(toupper(text), vector)) {
                print substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
            }
        }' "$2"
}

first_vector() { # SETTING FILE
    vectors "$1" "$2" | head -n 1
}

has_vector() { # SETTING NAME FILE: prints those whose NAME it is
    vectors "$1" "$3" | grep -iE "[[,[:space:]]NAME[[:space:]]*=[[:space:]]*\"$2\"" || true
}

restrict() { # SETTING ATTRIBUTE FILE: a line, unless FILE has it
    grep -qiE "^[[:space:]]*$1[[:space:]]*=[[:space:]]*\"$2\"" -- "$3" || say "$1 = \"$2\""
}

# What FILE, an oned.conf without our block, lacks. By the restricted attributes a tenant could choose whom to share a
# partition with; oneib check and oneibd ask for the same list.
missing_settings() {
    [ -n "$(has_vector VM_MAD kvm-ib "$1")" ] || cat <<'END'
VM_MAD = [
    NAME              = "kvm-ib",
    SUNSTONE_NAME     = "KVM with InfiniBand",
    EXECUTABLE        = "one_vmm_exec",
    ARGUMENTS         = "-t 15 -r 0 kvm-ib -p",
    DEFAULT           = "vmm_exec/vmm_exec_kvm.conf",
    TYPE              = "kvm",
    KEEP_SNAPSHOTS    = "yes",
    LIVE_RESIZE       = "yes",
    SUPPORT_SHAREABLE = "yes"
]
END
    [ -n "$(has_vector VN_MAD_CONF infiniband "$1")" ] || cat <<'END'
VN_MAD_CONF = [
    NAME        = "infiniband",
    BRIDGE_TYPE = "none"
]
END
    for attribute in VLAN_ID IB_CLASS IB_MEMBERSHIP IB_RATE IB_RESERVATION IB_STATIC_GUIDS; do
        for vector in '' AR/; do
            restrict VNET_RESTRICTED_ATTR "$vector$attribute" "$1"
        done
        for vector in NIC/ NIC_DEFAULT/ NIC_ALIAS/ PCI/; do
            restrict VM_RESTRICTED_ATTR "$vector$attribute" "$1"
        done
    done
}

# take_out BEGIN END FROM TO: the file FROM without the block between these lines. Lines that somebody tore apart are not
# guessed at. Whether there was one is in $begins.
take_out() {
    begins=$(grep -cxF -e "$1" -- "$3" || true)
    ends=$(grep -cxF -e "$2" -- "$3" || true)
    if [ "$begins" -gt 1 ] || [ "$begins" != "$ends" ]; then
        fail "$oned_conf has the line \"$1\" $begins times and \"$2\" $ends times: put that in order first"
    fi
    sed "/^$1\$/,/^$2\$/d" -- "$3" >"$4"
    [ "$begins" = 0 ] || ! grep -qxF -e "$2" -- "$4" ||
        fail "$oned_conf has \"$2\" in front of \"$1\": put that in order first"
}

# oned.conf as it is, to $work/oned.conf, without the placer's block to $work/no-placer, and without ours at all to
# $work/plain.
read_oned_conf() {
    as "$oned_owner" cat -- "$oned_conf" >"$work/oned.conf" || fail "$oned_conf cannot be read"
    take_out "$placer_begin" "$placer_end" "$work/oned.conf" "$work/no-placer"
    has_placer=$begins
    inner=$(sed "/^$placer_begin\$/,/^$placer_end\$/!d" -- "$work/oned.conf" | grep -xF -e "$begin" -e "$end" || true)
    [ -z "$inner" ] || fail "$oned_conf has \"$inner\" above \"$placer_end\": put that in order first"
    take_out "$begin" "$end" "$work/no-placer" "$work/plain"
    has_settings=$begins
    inner=$(sed "/^$begin\$/,/^$end\$/!d" -- "$work/oned.conf" | grep -xF -e "$placer_begin" || true)
    [ -z "$inner" ] || fail "$oned_conf has \"$inner\" above \"$end\": put that in order first"
}

check_oned_conf() {
    read_oned_conf
    bridge=$(has_vector VN_MAD_CONF infiniband "$work/plain")
    case $(say "$bridge" | tr -d '[:space:]' | tr '[:lower:]' '[:upper:]') in
    '' | *BRIDGE_TYPE='"NONE"'*) ;;
    *) fail "$oned_conf has a VN_MAD_CONF of infiniband whose BRIDGE_TYPE is not \"none\": VMs would be connected to a" \
        "bridge; correct it, or remove it" ;;
    esac
    ! $scheduler || make_placer "$work/plain"
}

# replace_oned_conf FILE: its bytes become oned.conf's, whose owner and mode stay.
replace_oned_conf() {
    # shellcheck disable=SC2016 # the inner shell expands
    as "$oned_owner" sh -c 'cp -p -- "$1" "$2" && cat >"$2" && mv -f -- "$2" "$1"' \
        sh "$oned_conf" "$oned_conf.oneib-new" <"$1" || fail "cannot write $oned_conf"
}

original=.before-oneib

# The last line of an oned.conf may lack its end.
with_line_end() { # FILE
    cat -- "$1"
    [ -z "$(tail -c 1 -- "$1")" ] || say
}

# FILE, an oned.conf, with our settings: in their old place, or at its end.
with_settings() {
    if [ "$has_settings" = 1 ]; then
        sed -e "/^$begin\$/r $work/block" -e "/^$begin\$/,/^$end\$/d" -- "$1"
    elif [ -s "$work/settings" ]; then
        with_line_end "$1"
        cat -- "$work/block"
    else
        cat -- "$1"
    fi
}

# What oned.conf is to be, to $work/changed. The placer's block stays as it is where it is not asked for.
change_oned_conf() {
    missing_settings "$work/plain" >"$work/settings"
    {
        say "$begin"
        cat -- "$work/settings"
        say "$end"
    } >"$work/block"
    if $scheduler; then
        {
            cat -- "$work/placer"
            with_settings "$work/no-placer"
        } >"$work/changed"
    else
        with_settings "$work/oned.conf" >"$work/changed"
    fi
}

install_oned_conf() {
    change_oned_conf
    if cmp -s -- "$work/oned.conf" "$work/changed"; then
        [ "$has_settings" = 1 ] || say "$oned_conf has all that is needed"
        return 0
    fi
    if step "write oneib's settings into $oned_conf (as it was: $oned_conf$original)"; then
        [ "$has_settings$has_placer" != 00 ] || as "$oned_owner" cp -p -- "$oned_conf" "$oned_conf$original" ||
            fail "cannot write $oned_conf$original"
        replace_oned_conf "$work/changed"
    fi
    say "  $(wc -l <"$work/settings") lines, between \"${begin%%:*}\" and \"$end\""
    ! $scheduler || [ ! -s "$work/placer" ] || say "  the placer ib, between \"${placer_begin%%:*}\" and \"$placer_end\""
}

# Byte for byte what it was, unless somebody changed it since: then that without our lines.
uninstall_oned_conf() {
    [ -f "$oned_conf" ] || return 0
    need_oned_conf
    read_oned_conf
    [ "$has_settings$has_placer" != 00 ] || return 0
    step "take oneib's settings out of $oned_conf" || return 0
    if as "$oned_owner" cat -- "$oned_conf$original" >"$work/original" 2>/dev/null &&
        with_line_end "$work/original" | cmp -s -- - "$work/plain"; then
        replace_oned_conf "$work/original"
    else
        replace_oned_conf "$work/plain"
    fi
    as "$oned_owner" rm -f -- "$oned_conf$original"
    [ "$has_placer" = 0 ] || say "  oned asks the placer ib until it is restarted: restart it now"
}
