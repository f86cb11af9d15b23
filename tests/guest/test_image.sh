# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# share/image/oneib-image: with root directories and small images that hold one. The recipe runs on an operator's machine: it
# has that one's commands, and not a guest's. virt-customize is a stand-in here.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"

recipe() { # ARGUMENT...: under the shell of this run
    program=$context/../image/oneib-image
    case $GUEST_SHELL in
    busybox) PATH=$standins:${PATH#*:} "$(command -v busybox)" sh "$program" "$@" ;;
    *) PATH=$standins:${PATH#*:} "$GUEST_SHELL" "$program" "$@" ;;
    esac
}

# A root directory that is enough for the guest side, and no virt-customize, whether the machine has one or not.
prepare() {
    standins=$work/standins
    mkdir "$standins"
    mkdir -p "$root/etc" "$root/usr/lib/systemd" "$root/usr/bin"
    echo 'ID=debian' >"$root/usr/lib/os-release"
    : >"$root/usr/lib/systemd/systemd"
}

standin() { # NAME, its body on standard input
    {
        echo '#!/bin/sh'
        echo "echo \"\${0##*/} \$*\" >>'$work/calls'"
        cat
    } >"$standins/$1"
    chmod 755 "$standins/$1"
}

needs_mounts() {
    [ "$(id -u)" -eq 0 ] || skip "only root can mount"
    unshare --mount true 2>/dev/null || skip "mount namespaces cannot be made here"
}

needs_loop_devices() {
    needs_mounts
    PATH=${PATH#*:} losetup -f >/dev/null 2>&1 || skip "no loop devices"
}

# An image with a partition table, whose second partition has $root on an ext4.
make_image() { # FILE
    PATH=${PATH#*:} mke2fs -q -t ext4 -F -d "$root" "$work/part" 24M >/dev/null
    rm -f "$1"
    dd if="$work/part" of="$1" bs=1M seek=2 2>/dev/null
    rm "$work/part"
    dd if=/dev/zero of="$1" bs=1M seek=27 count=1 2>/dev/null
    printf 'label: gpt\nstart=2048, size=2048, type=uefi\nstart=4096, size=49152, type=linux\n' |
        PATH=${PATH#*:} sfdisk -q --wipe-partitions never "$1" >/dev/null 2>&1
}

in_image() { # FILE PATH: prints it
    dd if="$1" of="$work/part" bs=1M skip=2 count=24 2>/dev/null
    PATH=${PATH#*:} debugfs -R "cat $2" "$work/part" 2>/dev/null
    rm "$work/part"
}

test_a_root_directory_gets_the_guest_side() {
    prepare
    needs_mounts
    succeeds recipe --root "$root"
    [ -x "$root/usr/sbin/oneib-guest" ] || fail "no program"
    has "$root/usr/lib/oneib/guest.list" '^f /usr/sbin/oneib-guest$'
}

test_an_image_gets_the_guest_side_and_stays_as_it_is_itself() {
    prepare
    needs_loop_devices
    make_image "$work/disk.raw"
    before=$(cksum <"$work/disk.raw")
    succeeds recipe --by mount "$work/disk.raw"
    equal image "$(cksum <"$work/disk.raw")" "$before"
    in_image "$work/disk-oneib.raw" /usr/lib/oneib/guest.list >"$work/list"
    has "$work/list" '^f /usr/sbin/oneib-guest$'
    has "$work/output" 'look at it: '
    equal 'what is left' "$(echo "$work"/disk*)" "$work/disk-oneib.raw $work/disk.raw"
}

test_in_place_means_the_images_own_place() {
    prepare
    needs_loop_devices
    make_image "$work/disk.raw"
    succeeds recipe --by mount --in-place "$work/disk.raw"
    in_image "$work/disk.raw" /usr/lib/oneib/guest.list >"$work/list"
    has "$work/list" '^f /usr/sbin/oneib-guest$'
    [ ! -e "$work/disk-oneib.raw" ] || fail "and another place"
}

test_no_mount_and_no_loop_device_is_left() {
    prepare
    needs_loop_devices
    make_image "$work/disk.raw"
    succeeds recipe --by mount "$work/disk.raw"
    rm "$work/disk-oneib.raw"
    # It cannot be done: what would be a file of ours is somebody else's.
    mkdir -p "$root/usr/sbin/oneib-guest"
    make_image "$work/disk.raw"
    fails recipe --by mount "$work/disk.raw"
    [ ! -e "$work/disk-oneib.raw" ] || fail "something was made"
    if grep -F "$work" /proc/mounts; then fail "still mounted"; fi
    if PATH=${PATH#*:} losetup -a | grep -F "$work"; then fail "still a loop device"; fi
}

test_an_image_without_a_linux_is_refused() {
    prepare
    needs_loop_devices
    rm "$root/usr/lib/os-release"
    make_image "$work/disk.raw"
    fails recipe --by mount "$work/disk.raw"
    has "$work/output" 'no partition of the image has a Linux'
    dd if=/dev/zero of="$work/empty.raw" bs=1M count=1 2>/dev/null
    fails recipe --by mount "$work/empty.raw"
}

test_an_images_links_lead_nowhere_outside() {
    prepare
    needs_loop_devices
    mkdir "$work/outside"
    ln -s "$work/outside" "$root/usr/sbin"
    ln -s "$work/outside" "$root/etc/one-context.d"
    make_image "$work/disk.raw"
    succeeds recipe --by mount "$work/disk.raw"
    equal outside "$(ls -A "$work/outside")" ''
}

test_an_image_whose_content_is_in_another_file_is_refused() {
    prepare
    printf 'QFI\373and so on' >"$work/disk.qcow2"
    standin virt-customize </dev/null
    for key in backing-filename data-file; do
        standin qemu-img <<END
echo '{ "format": "qcow2", "$key": "/etc/shadow" }'
END
        fails recipe --by virt-customize "$work/disk.qcow2"
        has "$work/output" 'in another file'
    done
    has_not "$work/calls" '^virt-customize'
}

# Stand-ins of the tools: qemu-img copies, virt-customize says what it was to do, and writes into the image.
guestfs() {
    standin qemu-img <<'END'
case $1 in
info) echo '{}' ;;
convert) cp "$7" "$8" ;;
esac
END
    standin virt-customize <<'END'
while [ "$1" != -a ]; do shift; done
echo changed >>"$2"
END
    standin virt-cat <<'END'
echo 'f /usr/sbin/oneib-guest'
END
}

test_virt_customize_has_a_copy_of_a_format_that_nobody_guesses() {
    prepare
    guestfs
    printf 'QFI\373image' >"$work/disk.qcow2"
    echo image >"$work/disk.img"
    succeeds recipe "$work/disk.qcow2"
    succeeds recipe "$work/disk.img"
    has "$work/calls" "^virt-customize --format=qcow2 -a $work/disk-oneib.qcow2[^ ]* --copy-in .*/oneib-image:/ "
    has "$work/calls" "^virt-customize --format=raw -a $work/disk-oneib.img"
    equal copy "$(cat "$work/disk-oneib.img")" "image
changed"
    equal image "$(cat "$work/disk.img")" image
    has_not "$work/calls" add-packages
    has "$work/calls" '--truncate /etc/machine-id'
}

test_packages_are_added_before_the_guest_side() {
    prepare
    guestfs
    echo image >"$work/disk.img"
    echo package >"$work/one-context.deb"
    succeeds recipe --packages 'rdma-core openmpi-bin' --context-package "$work/one-context.deb" "$work/disk.img"
    has "$work/calls" 'add-packages /oneib-image .*/context/install'
}

test_what_fails_leaves_nothing() {
    prepare
    guestfs
    echo 'exit 1' | standin virt-customize
    echo image >"$work/disk.img"
    fails recipe "$work/disk.img"
    fails recipe --in-place "$work/disk.img"
    equal image "$(cat "$work/disk.img")" image
    equal files "$(echo "$work"/disk*)" "$work/disk.img"
}

test_an_image_that_does_not_show_the_guest_side_is_no_success() {
    prepare
    guestfs
    echo 'exit 1' | standin virt-cat
    echo image >"$work/disk.img"
    fails recipe "$work/disk.img"
    echo 'echo something else' | standin virt-cat
    fails recipe "$work/disk.img"
    [ ! -e "$work/disk-oneib.img" ] || fail "something was made"
}

test_a_file_that_is_there_is_not_overwritten() {
    prepare
    guestfs
    echo image >"$work/disk.img"
    echo mine >"$work/disk-oneib.img"
    fails recipe "$work/disk.img"
    equal mine "$(cat "$work/disk-oneib.img")" mine
}

test_this_machine_is_not_an_image() {
    prepare
    fails recipe --root /
    fails recipe --root /usr/..
}

# add-packages as the image runs it: with the image's package manager, here a stand-in.
add_packages() { # MANAGER
    mkdir -p "$work/gathered"
    printf '%s\n' rdma-core openmpi-bin >"$work/gathered/names"
    standin "$1" </dev/null
    for tool in cat mkdir sh; do ln -sf "$(PATH=${PATH#*:} command -v "$tool")" "$standins/$tool"; done
    : >"$work/calls"
    shell=$(command -v "$GUEST_SHELL")
    case $GUEST_SHELL in
    busybox) PATH=$standins "$shell" sh "$context/../image/add-packages" "$work/gathered" "$root" ;;
    *) PATH=$standins "$shell" "$context/../image/add-packages" "$work/gathered" "$root" ;;
    esac
}

test_each_distribution_has_its_package_manager() {
    for manager in apt-get dnf yum zypper apk; do
        rm -rf "${work:?}/standins"
        prepare
        succeeds add_packages "$manager"
        has "$work/calls" "^$manager .*(install|add) .*rdma-core openmpi-bin\$"
    done
}

test_mpi_brings_its_packages_and_the_right_to_lock_memory() {
    for manager in apt-get dnf yum zypper; do
        rm -rf "${work:?}/standins" "$root"
        mkdir "$root"
        prepare
        mkdir -p "$work/gathered"
        : >"$work/gathered/mpi"
        succeeds add_packages "$manager"
        has "$work/calls" "^$manager .*install .*rdma-core .*perftest openmpi.* gcc .*rdma-core openmpi-bin\$"
        has "$root/etc/security/limits.d/oneib.conf" '^[*] - memlock unlimited$'
    done
    rm -rf "$standins"
    prepare
    fails add_packages apk
    has_not "$work/calls" ' add '
}

test_without_mpi_limits_stay() {
    prepare
    succeeds add_packages apt-get
    [ ! -e "$root/etc/security" ] || fail "limits were changed"
}

test_mpi_is_asked_for_in_the_image() {
    prepare
    guestfs
    echo image >"$work/disk.img"
    standin virt-customize <<'END'
for word; do
    case $word in *:/) [ ! -e "${word%:/}/mpi" ] || echo 'mpi is wanted' >>"${0%/*}/../calls" ;; esac
done
END
    succeeds recipe --mpi "$work/disk.img"
    has "$work/calls" 'add-packages /oneib-image .*/context/install'
    has "$work/calls" 'mpi is wanted'
}

test_a_package_of_another_kind_is_refused() {
    prepare
    mkdir "$work/gathered"
    : >"$work/gathered/context-package.rpm"
    fails add_packages apt-get
    has "$work/output" 'no use for a rpm package'
    has_not "$work/calls" install
}

test_words_that_say_nothing_are_usage_errors() {
    prepare
    guestfs
    echo image >"$work/disk.img"
    echo x >"$work/list"
    for words in '' '--root' "--root $root $work/disk.img" "--by magic $work/disk.img" "--packages -x $work/disk.img" \
        "--in-place --output $work/x $work/disk.img" "--context-package $work/list $work/disk.img" "a b"; do
        status=0
        # shellcheck disable=SC2086 # words
        recipe $words >"$work/output" 2>&1 || status=$?
        equal "status of '$words'" "$status" 2
    done
    # shellcheck disable=SC2016 # a name that is none
    fails recipe --packages 'x;$(touch y)' "$work/disk.img"
    [ ! -e "$work/calls" ] || fail "something was called: $(cat "$work/calls")"
}

run_tests
