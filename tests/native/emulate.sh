#!/usr/bin/env bash
# Runs fuzz targets on an emulated processor with AVX-512, for machines without it: Linux in Bochs, running nothing else.
#
#   tests/native/emulate.sh                          fuzz_split and fuzz_texts, which cover every tier
#   SECONDS_EACH=20 SEED=7 tests/native/emulate.sh   for longer, with another seed
#
# Booting takes a minute or two, and so does each second of the emulated clock. It needs these packages of
# Debian: bochs bochs-term bochsbios vgabios busybox-static cpio grub-pc-bin grub-common xorriso mtools.
set -euo pipefail

source_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
seconds=${SECONDS_EACH:-3}
seed=${SEED:-1}
targets=(fuzz_split fuzz_texts)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

get_linux() {
  (
    cd "$work"
    apt-get download -qq "$(apt-cache depends linux-image-cloud-amd64 | grep -o 'linux-image-[0-9][^ ]*')"
    dpkg-deb -x linux-image-*.deb unpacked
  )
  mv "$work"/unpacked/boot/vmlinuz-* "$work/disc/boot/vmlinuz"
}

build_targets() {
  cmake -S "$source_tree/tests/native" -B "$work/build" -DTOKBENCH_WERROR=ON -DCMAKE_EXE_LINKER_FLAGS=-static \
    "-DTOKBENCH_FUZZ_TARGETS=$(IFS=';' && echo "${targets[*]}")"
  cmake --build "$work/build" --parallel "$(getconf _NPROCESSORS_ONLN)"
  cp "${targets[@]/#/$work/build/}" "$work/root/bin"
}

# The init program, which runs the targets and powers off.
write_first_program() {
  cat >"$work/root/init" <<END
#!/bin/busybox sh
/bin/busybox mkdir /proc
/bin/busybox mount -t proc proc /proc
/bin/busybox grep -o -m1 avx512_vbmi2 /proc/cpuinfo
for target in ${targets[*]}; do /bin/\$target --seconds $seconds --seed $seed && echo "\$target passed"; done
/bin/busybox sleep 1
/bin/busybox poweroff -f
END
  chmod +x "$work/root/init"
}

# Linux 6.1 rejects how Bochs 2.7 saves the state of protection keys, and stops at some of the other features.
write_disc() {
  mkdir -p "$work/disc/boot/grub" "$work/root/bin"
  get_linux
  build_targets
  cp "$(command -v busybox)" "$work/root/bin/busybox"
  write_first_program
  (cd "$work/root" && find . | cpio --create --format=newc --quiet | gzip) >"$work/disc/boot/root"
  cat >"$work/disc/boot/grub/grub.cfg" <<'END'
serial
terminal_output serial
linux /boot/vmlinuz console=ttyS0 quiet nokaslr mitigations=off tsc=reliable lpj=1000000 random.trust_cpu=on \
  nopku nopcid noxsaves clearcpuid=pku,ospke,pcid,invpcid,xsaves,xsavec,smap,smep,umip,fsrm,erms
initrd /boot/root
boot
END
  grub-mkrescue -o "$work/disc.iso" "$work/disc"
}

# Debian's Bochs starts in its debugger, which is told to continue, and it treats power-off as an error.
emulate() {
  echo continue >"$work/commands"
  cat >"$work/settings" <<END
cpu: model=corei7_icelake_u, ips=200000000, reset_on_triple_fault=0
megs: 512
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
display_library: rfb, options="timeout=0"
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/disc.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial
log: $work/log
panic: action=fatal
clock: sync=none
END
  bochs -q -f "$work/settings" -rc "$work/commands" </dev/null || true
}

write_disc >"$work/output" 2>&1 || { cat "$work/output" && exit 1; }
emulate >"$work/output" 2>&1
grep -a -A 20 avx512_vbmi2 "$work/serial" || { tail "$work/output" "$work/log" "$work/serial" && exit 1; }
for target in "${targets[@]}"; do grep -a -q "$target passed" "$work/serial"; done
