# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The front-end: oneib's settings in oned.conf.

begin='# BEGIN oneib: written by its install.sh, which takes it out again; change nothing up to END oneib'
end='# END oneib'

# has_vector SETTING NAME FILE: prints SETTING = [ NAME = "NAME", ... ] where it stands in FILE, comments left out.
has_vector() {
    awk -v setting="$1" -v name="$2" '
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
            named = "[[, \t]NAME[ \t]*=[ \t]*\"" toupper(name) "\""
            while (match(toupper(text), vector)) {
                found = substr(text, RSTART, RLENGTH)
                if (toupper(found) ~ named)
                    print found
                text = substr(text, RSTART + RLENGTH)
            }
        }' "$3"
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

# oned.conf as it is, to $work/oned.conf, and without our block, to $work/plain.
read_oned_conf() {
    as "$oned_owner" cat -- "$oned_conf" >"$work/oned.conf" || fail "$oned_conf cannot be read"
    begins=$(grep -cxF -e "$begin" -- "$work/oned.conf" || true)
    ends=$(grep -cxF -e "$end" -- "$work/oned.conf" || true)
    if [ "$begins" -gt 1 ] || [ "$begins" != "$ends" ]; then
        fail "$oned_conf has the line \"$begin\" $begins times and \"$end\" $ends times: put that in order first"
    fi
    sed "/^$begin\$/,/^$end\$/d" -- "$work/oned.conf" >"$work/plain"
    [ "$begins" = 0 ] || ! grep -qxF -e "$end" -- "$work/plain" ||
        fail "$oned_conf has \"$end\" in front of \"$begin\": put that in order first"
}

check_oned_conf() {
    read_oned_conf
    bridge=$(has_vector VN_MAD_CONF infiniband "$work/plain")
    case $(say "$bridge" | tr -d '[:space:]' | tr '[:lower:]' '[:upper:]') in
    '' | *BRIDGE_TYPE='"NONE"'*) ;;
    *) fail "$oned_conf has a VN_MAD_CONF of infiniband whose BRIDGE_TYPE is not \"none\": VMs would be connected to a" \
        "bridge; correct it, or remove it" ;;
    esac
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

install_oned_conf() {
    missing_settings "$work/plain" >"$work/settings"
    {
        say "$begin"
        cat -- "$work/settings"
        say "$end"
    } >"$work/block"
    if [ "$begins" = 1 ]; then # in its old place
        sed -e "/^$begin\$/r $work/block" -e "/^$begin\$/,/^$end\$/d" -- "$work/oned.conf" >"$work/changed"
    elif [ ! -s "$work/settings" ]; then
        say "$oned_conf has all that is needed"
        return 0
    else
        {
            with_line_end "$work/oned.conf"
            cat -- "$work/block"
        } >"$work/changed"
    fi
    ! cmp -s -- "$work/oned.conf" "$work/changed" || return 0
    if step "write oneib's settings into $oned_conf (as it was: $oned_conf$original)"; then
        [ "$begins" = 1 ] || as "$oned_owner" cp -p -- "$oned_conf" "$oned_conf$original" ||
            fail "cannot write $oned_conf$original"
        replace_oned_conf "$work/changed"
    fi
    say "  $(wc -l <"$work/settings") lines, between \"${begin%%:*}\" and \"$end\""
}

# Byte for byte what it was, unless somebody changed it since: then that without our lines.
uninstall_oned_conf() {
    [ -f "$oned_conf" ] || return 0
    need_oned_conf
    read_oned_conf
    [ "$begins" = 1 ] || return 0
    step "take oneib's settings out of $oned_conf" || return 0
    if as "$oned_owner" cat -- "$oned_conf$original" >"$work/original" 2>/dev/null &&
        with_line_end "$work/original" | cmp -s -- - "$work/plain"; then
        replace_oned_conf "$work/original"
    else
        replace_oned_conf "$work/plain"
    fi
    as "$oned_owner" rm -f -- "$oned_conf$original"
}
