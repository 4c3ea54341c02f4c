# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs emulated arm64 boards, one at a time in a script: board_start, vm_run, daemon_start, get, board_stop.
#
# QEMU counts instructions (-icount), so PMU values are deterministic: an instruction on any CPU takes 2 ns.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

VM_BOOT_TIMEOUT=${VM_BOOT_TIMEOUT:-180} # in seconds; enough for a busy host
VM_LIFE=${VM_LIFE:-10800}                # in seconds; a board that runs longer is stopped

board_pid=
scratch=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-vm.XXXXXX")
silence=$scratch/silence # a line for each request that the board or the daemon did not answer

# Replaces pass() of checks.sh: a check fails if the board or the daemon did not answer, even if the check expects empty
# text.
pass() {
    if [ -s "$silence" ]; then
        fail "$1" "$(<"$silence")"
        : >"$silence"
        return
    fi
    checks=$((checks + 1))
    echo "ok: $1"
}

board_cleanup() {
    board_stop
    rm -rf "$scratch"
}
trap board_cleanup EXIT
trap 'exit 1' INT TERM

# Prints two unused loopback ports.
free_ports() {
    python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))'
}

board_alive() {
    [ -n "$board_pid" ] && kill -0 "$board_pid" 2>/dev/null
}

# Shows the console, which says why the board failed or how QEMU ended.
board_failed() {
    echo "the last lines of the console log, $console:" >&2
    tail -n 40 "$console" >&2
    die "$*"
}

# machine CPUS [MODEL]: sets QEMU's arguments for the machine. All CPUs are the same model, which determines the events
# of their PMUs: a Cortex-A76 has stall_frontend and stall_backend.
machine() {
    machine_arguments=(-M "virt,gic-version=3" -cpu "${2:-cortex-a72}" -smp "$1" -m 1024)
}

# write_device_tree CPUS LITTLE BIG FILE: writes a device tree with two kinds of core.
write_device_tree() {
    machine "$1" "$3"
    machine_arguments[1]+=",dumpdtb=$4.virt"
    quietly "QEMU did not write its device tree" qemu-system-aarch64 "${machine_arguments[@]}" -nic none -display none
    dtc -q -I dtb -O dts "$4.virt" | python3 "$vm_dir/device-tree.py" "$1" "$2" "$3" >"$4.dts" ||
        die "cannot write a device tree with two kinds of core"
    quietly "dtc rejected the device tree" dtc -q -I dts -O dtb -o "$4" "$4.dts"
}

board_is_up() {
    vm_run true || ! board_alive
}

# board_start NAME KERNEL CPUS [LITTLE BIG]: starts a board. KERNEL is 6.1 or 5.10; LITTLE and BIG are two kinds of
# core, such as cortex-a55. Without them all cores are alike. Sets url, the future address of the daemon. If `overlay`
# names an archive, its files replace the board's. If `jumps` is set, the board's time jumps to the next timer while all
# CPUs are idle, and programs may make semihosting calls (QEMU 7.2 or newer), which `spin CPU service` needs.
board_start() {
    local name=$1 kernel=$2 cpus=$3 vmlinuz ports arguments started=$SECONDS
    board_stop
    console=$VM_BUILD/console-$name.log
    vmlinuz=$(find "$VM_CACHE/linux-$kernel/boot" -name 'vmlinuz-*' 2>/dev/null)
    [ -n "$vmlinuz" ] || die "there is no kernel $kernel in $VM_CACHE: run fetch.sh first"
    [ -e "$VM_BUILD/initramfs.gz" ] || die "there is no $VM_BUILD/initramfs.gz: run build.sh first"
    cat "$VM_BUILD/initramfs.gz" "$VM_BUILD/linux-$kernel.modules.gz" ${overlay:+"$overlay"} >"$scratch/initrd" || exit
    machine "$cpus" "${@:5}"
    arguments=("${machine_arguments[@]}")
    if [ $# -gt 3 ]; then
        write_device_tree "$cpus" "$4" "$5" "$scratch/board.dtb"
        arguments+=(-dtb "$scratch/board.dtb")
    fi
    read -r -a ports <<<"$(free_ports)"
    url=http://127.0.0.1:${ports[0]}
    control=http://127.0.0.1:${ports[1]}/cgi-bin/run
    [ -z "${jumps-}" ] ||
        arguments+=(-chardev "null,id=nothing"
            -semihosting-config "enable=on,userspace=on,target=native,chardev=nothing")
    # shellcheck disable=SC2054 # the commas are QEMU's
    arguments+=(-icount "shift=1${jumps:+,sleep=off}" -display none -monitor none -serial "file:$console" -no-reboot
        -netdev "user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:${ports[0]}-:10298,hostfwd=tcp:127.0.0.1:${ports[1]}-:8080"
        -device virtio-net-device,netdev=n -kernel "$vmlinuz" -initrd "$scratch/initrd"
        -append "console=ttyAMA0 quiet panic=-1 isolcpus=1,3")
    : >"$console"
    timeout --foreground -k 10 "$VM_LIFE" qemu-system-aarch64 "${arguments[@]}" >>"$console" 2>&1 </dev/null &
    board_pid=$!
    eventually "$VM_BOOT_TIMEOUT" board_is_up || board_failed "$name did not boot within $VM_BOOT_TIMEOUT s"
    board_alive || board_failed "$name stopped while booting"
    : >"$silence"
    say "$name: Linux $(vm_run uname -r), $cpus CPUs, up in $((SECONDS - started)) s"
}

board_stop() {
    [ -n "$board_pid" ] || return 0
    kill "$board_pid" 2>/dev/null
    eventually 60 not board_alive || kill -9 "$board_pid" 2>/dev/null
    wait "$board_pid" 2>/dev/null
    board_pid=
}

not() {
    ! "$@"
}

# vm_run COMMANDS: runs a shell script on the board. Prints its output and returns its exit status, or 255 if the board
# does not answer.
vm_run() {
    local answer
    answer=$(curl -sS --max-time "${VM_RUN_TIMEOUT:-120}" --data-binary "$*" "$control")
    if ! [[ ${answer##*$'\n'} =~ ^status\ [0-9]+$ ]]; then
        echo "the board does not answer: $*" | head -n 3 >>"$silence"
        return 255
    fi
    printf '%s' "${answer%$'\n'*}"
    return "${answer##*status }"
}

# get PATH [CURL-OPTIONS...]: prints the body of the daemon's response.
get() {
    local status=0
    curl -sS --globoff --max-time 120 "${@:2}" "$url$1" || status=$?
    # A status of 400 or more is a response as well, even though curl -f fails.
    [ $status = 0 ] || [ $status = 22 ] || echo "the daemon does not answer: $1 (curl: $status)" >>"$silence"
    return $status
}

daemon_ready() {
    get /-/ready -f
}

# daemon_start [WRAPPER...]: starts the daemon with the configuration from standard input. It runs only on CPU 0, or on
# the CPU in daemon_cpu, so that it does not disturb the other CPUs.
daemon_start() {
    daemon_stop
    vm_run "cat >/etc/perfcountd.yaml <<'END'
$(cat)
END
    $* taskset -c ${daemon_cpu-0} perfcountd run --config.file=/etc/perfcountd.yaml >/tmp/daemon.log 2>&1 &
    echo \$! >/tmp/daemon.pid" || board_failed "cannot start the daemon"
    eventually 60 daemon_ready || board_failed "the daemon is not ready after 60 s: $(vm_run cat /tmp/daemon.log)"
    : >"$silence" # ignores requests from before the daemon was ready
}

daemon_stop() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run '[ -e /tmp/daemon.pid ] || exit 0
        pid=$(cat /tmp/daemon.pid)
        rm /tmp/daemon.pid
        kill $pid 2>/dev/null
        while kill -0 $pid 2>/dev/null; do sleep 0.1; done' || board_failed "cannot stop the daemon"
}
