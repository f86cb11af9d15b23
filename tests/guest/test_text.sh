# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Values, messages and files: lib/text.sh.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/machine.sh
. "$GUEST_TESTS/machine.sh"
# shellcheck source=share/context/lib/text.sh
. "$context/lib/text.sh"

# each_line_is COMMAND...; no_line_is COMMAND...: standard input's lines are its last argument.
each_line_is() {
    while IFS= read -r value; do
        "$@" "$value" || fail "$* '$value' is refused"
    done
}

no_line_is() {
    while IFS= read -r value; do
        ! "$@" "$value" || fail "$* '$value' is accepted"
    done
}

newline='
'

test_a_number_is_decimal_and_within_its_limits() {
    for value in 0 1 9 10 255 4294967295 999999999999999; do
        succeeds is_number "$value" 0 999999999999999
    done
    for value in '' ' ' 1000000000000000 99999999999999999999999 -1 +1 01 00 1x 0x1 1.0 '1 ' ' 1' "1$newline" '$((1))'; do
        fails is_number "$value" 0 999999999999999
    done
    fails is_number 67 68 100
    fails is_number 101 68 100
}

test_an_ipv4_address_is_four_numbers() {
    each_line_is is_ipv4 <<'END'
0.0.0.0
10.20.0.10
255.255.255.255
END
    no_line_is is_ipv4 <<'END'

10
10.20.0
10.20.0.
.10.20.0
10..20.0
10.20.0.10.
10.20.0.256
10.20.0.010
10.20.0.0x1
10.20.0.10/24
 10.20.0.10
10.20.0.10 10.20.0.11
10.20.0.-1
255.255.255.2550
END
    fails is_ipv4 "10.20.0.10$newline"
    fails is_ipv4 "10.20.0.10${newline}10.20.0.11"
}

test_an_ipv6_address_is_eight_groups_or_has_a_gap() {
    each_line_is is_ipv6 <<'END'
::
::1
1::
fe80::1
2001:db8::a
2001:DB8:0:0:0:0:0:A
1:2:3:4:5:6:7:8
1:2:3:4:5:6:7::
::2:3:4:5:6:7:8
ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
END
    no_line_is is_ipv6 <<'END'

:
1
1:2
:::
1::2::3
12345::
:1:2:3:4:5:6:7:8
1:2:3:4:5:6:7:8:
1:2:3:4:5:6:7
1:2:3:4:5:6:7:8:9
1:2:3:4:5:6:7::8
fe80::1%eth0
::ffff:10.20.0.10
2001:db8::/64
g::
 ::1
0000:0000:0000:0000:0000:0000:0000:00000
END
}

test_prefixes_are_an_address_and_a_length() {
    succeeds is_ipv4_prefix 10.30.0.0/16
    succeeds is_ipv4_prefix 0.0.0.0/0
    succeeds is_ipv6_prefix 2001:db8::/128
    no_line_is is_ipv4_prefix <<'END'
10.30.0.0
10.30.0.0/
10.30.0.0/33
10.30.0.0/-1
10.30.0.0/16/16
/16
2001:db8::/64
END
    no_line_is is_ipv6_prefix <<'END'
2001:db8::
2001:db8::/129
2001:db8::/064
10.30.0.0/16
END
}

test_ipv6_addresses_are_spelled_as_the_kernel_does() {
    while read -r given canonical; do
        prints "$canonical" canonical_ipv6 "$given"
    done <<'END'
:: ::
0:0:0:0:0:0:0:0 ::
::1 ::1
1:: 1::
2001:DB8:0:0:0:0:0:A 2001:db8::a
2001:0db8::0001:0:0:1 2001:db8::1:0:0:1
1:0:0:2:0:0:0:3 1:0:0:2::3
0:0:1:2:3:4:0:0 ::1:2:3:4:0:0
1:2:3:4:5:6:0:0 1:2:3:4:5:6::
1:0:2:3:4:5:6:7 1:0:2:3:4:5:6:7
1:2:3:4:5:6:7:: 1:2:3:4:5:6:7:0
::2:3:4:5:6:7:8 0:2:3:4:5:6:7:8
10:0:0:0:0:0:0:10 10::10
100:0:0:1:0:0:1000:0 100::1:0:0:1000:0
fe80::00ff fe80::ff
END
}

test_masks_become_prefix_lengths() {
    while read -r mask length; do
        prints "$length" prefix_of_mask "$mask"
    done <<'END'
0.0.0.0 0
128.0.0.0 1
255.255.0.0 16
255.255.254.0 23
255.255.255.0 24
255.255.255.255 32
24 24
0 0
32 32
END
    while read -r mask; do
        fails prefix_of_mask "$mask"
    done <<'END'
33
255.0.255.0
255.255.255.1
0.0.0.255
253.0.0.0
255.255.255
x
END
    fails prefix_of_mask ''
}

test_names_are_of_letters_digits_and_hyphens() {
    long=abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc
    for value in a a1 1a node-1 N "$long"; do
        succeeds is_host_name "$value"
        succeeds is_domain "$value.example"
    done
    for value in '' - -a a- a.b a_b 'a b' "a$newline" "${long}d" '$(touch executed)' 'a;b' '*' ä; do
        fails is_host_name "$value"
    done
    for value in '' . .a a. a..b -a.b "$long.$long.$long.$long" 'a b' 'a/b'; do
        fails is_domain "$value"
    done
}

test_interface_names_are_safe_as_words_and_as_files() {
    for value in ib0 ib0.8001 enp0s31f6 ibp5s0 a_b ABCDEFGHIJKLMNO; do
        succeeds is_interface_name "$value"
    done
    for value in '' . .. -a .a a/b 'a b' ABCDEFGHIJKLMNOP 'a;b' "ib0$newline" '*' '$x'; do
        fails is_interface_name "$value"
    done
}

test_hostile_values_are_nothing() {
    for what in is_ipv4 is_ipv6 is_ipv4_prefix is_ipv6_prefix is_host_name is_domain is_interface_name prefix_of_mask; do
        hostile_values >"$work/values"
        no_line_is "$what" <"$work/values"
    done
    hostile_values | while IFS= read -r value; do fails is_number "$value" 0 10; done
    nothing_ran
}

test_a_message_is_one_printable_line() {
    say "a$(printf '\033[31m\t')b" "%s \\n${newline}c" 2>"$work/said"
    equal message "$(cat "$work/said")" 'oneib: a[31m b %s \n c'
    say "$(awk 'BEGIN { for (i = 0; i < 100000; i++) printf "x" }')" 2>"$work/said"
    [ "$(wc -c <"$work/said")" -lt 500 ] || fail "the message has $(wc -c <"$work/said") characters"
}

test_a_file_is_replaced_only_when_it_differs() {
    status=0
    echo one | replace_file "$work/file" || status=$?
    equal 'status of a new file' "$status" 0
    inode=$(ls -i "$work/file")
    echo one | replace_file "$work/file" || status=$?
    equal 'status of the same' "$status" 1
    equal 'the file' "$(ls -i "$work/file")" "$inode"
    status=0
    echo two | replace_file "$work/file" || status=$?
    equal 'status of another' "$status" 0
    equal content "$(cat "$work/file")" two
    equal 'files in the directory' "$(ls -A "$work")" "file
root"
}

test_a_replaced_file_keeps_its_mode() {
    echo one >"$work/file"
    chmod 640 "$work/file"
    echo two | replace_file "$work/file" 0600
    equal mode "$(stat -c %a "$work/file")" 640
    echo secret | replace_file "$work/new" 0600
    equal mode "$(stat -c %a "$work/new")" 600
}

test_what_a_link_names_is_replaced_and_the_link_stays() {
    mkdir "$work/real"
    echo one >"$work/real/file"
    ln -s real/file "$work/link"
    echo two | replace_file "$work/link"
    equal link "$(readlink "$work/link")" real/file
    equal content "$(cat "$work/real/file")" two
}

test_a_file_without_a_directory_is_an_error() {
    status=0
    echo one | replace_file "$work/none/file" 2>"$work/said" || status=$?
    equal status "$status" 2
    has "$work/said" "^oneib: .*none/file: "
}

run_tests
