#!/bin/bash
# run.sh [--systemd] [--timeout SECONDS] [--memory SIZE] [--cpus COUNT] COMMAND...
#
# Runs a command as root in a throw-away machine: Debian's kernel with cgroup v2 only, on a read-only
# view of this machine's files. Its writes are lost at the end; its output and exit code come back.
# With --systemd, systemd is the first process and the command one of its units; without, the command
# runs alone.
#
# The machine is emulated in software and 15 to 40 times slower than this one: compile outside, run
# inside. It runs at the lowest priority.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin:/sbin
kit=$PWD/.cache/vm
first=plain timeout=1800 memory=3G cpus=1
while [ $# -gt 0 ]; do
  case $1 in
    --systemd) first=systemd ;;
    --timeout) timeout=$2; shift ;;
    --memory) memory=$2; shift ;;
    --cpus) cpus=$2; shift ;;
    --) shift; break ;;
    -*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || { echo "run.sh: no command" >&2; exit 2; }
test/vm/setup.sh

run=$(mktemp -d "$kit/run.XXXXXX")
files='' output=''
finish() {
  # shellcheck disable=SC2086 # an empty value is no argument
  kill $files $output 2>/dev/null || true
  rm -rf "$run"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The guest finds this below its root, which shows the files of this machine.
{
  printf 'cd %q\n' "$PWD"
  declare -px PATH
  for name in $(compgen -e NODAL_ || true); do declare -px "$name"; done
  printf '%s\n' "$*"
} >"$run/command"
cp test/vm/guest/start "$run/start"

virtiofsd=/usr/lib/qemu/virtiofsd
[ -x "$virtiofsd" ] || virtiofsd=/usr/libexec/virtiofsd
nice "$virtiofsd" --socket-path="$run/files" --thread-pool-size=0 \
  -o source=/ -o sandbox=chroot -o cache=always -o xattr >"$run/files.log" 2>&1 </dev/null &
files=$!
for _ in {1..200}; do
  [ ! -S "$run/files" ] || break
  sleep 0.05
done

machine=(
  -M q35,memory-backend=memory -accel tcg,thread=multi,tb-size=512 -cpu max,la57=off -smp "$cpus" -m "$memory"
  -object "memory-backend-memfd,id=memory,size=$memory,share=on"
  -nodefaults -no-user-config -no-reboot -display none -nic none
  -kernel "$kit/vmlinuz" -initrd "$kit/first.cpio.gz"
  -append "console=ttyS0 quiet panic=-1 apparmor=0 audit=0 mitigations=off vm_kit=$kit vm_run=$run vm_first=$first"
  -serial "file:$run/console"
  -chardev "socket,id=files,path=$run/files" -device vhost-user-fs-pci,chardev=files,tag=host
  -device virtio-serial-pci
  -chardev "file,id=output,path=$run/output" -device virtserialport,chardev=output,nr=1
  -chardev "file,id=code,path=$run/code" -device virtserialport,chardev=code,nr=2
  -object rng-random,id=random,filename=/dev/urandom -device virtio-rng-pci,rng=random
)
mkfifo "$run/output"
cat "$run/output" &
output=$!
ended=0
timeout --foreground -k 5 "$timeout" nice qemu-system-x86_64 "${machine[@]}" </dev/null 2>"$run/qemu.log" || ended=$?
: <>"$run/output" # release cat if the machine never started and never opened the pipe
wait "$output"
code=$(tr -cd 0-9 <"$run/code" 2>/dev/null || true)
if [ -z "$code" ]; then
  [ "$ended" != 124 ] || echo "run.sh: not done after $timeout seconds" >&2
  echo "run.sh: the machine ended ($ended) without a result; its last output:" >&2
  tail -n 20 "$run/console" "$run/qemu.log" "$run/files.log" >&2
  exit 125
fi
exit "$code"
