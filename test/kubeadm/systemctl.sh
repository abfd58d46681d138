#!/bin/bash
# systemctl of a machine without systemd, as far as kubeadm needs it: its only unit is the kubelet, started as by
# kubeadm's drop-in 10-kubeadm.conf. Without kubeadm's files it is the node alone whose runtime kubeadm looks for.
set -euo pipefail
pid_file=/run/kubelet.pid

runs() { [[ -e $pid_file ]] && kill -0 "$(<$pid_file)" 2>/dev/null; }

stop() {
    if ! runs; then return; fi
    kill "$(<$pid_file)"
    while runs; do sleep 0.05; done
    rm $pid_file
}

start() {
    if runs; then return; fi
    local args=() KUBELET_KUBEADM_ARGS=""
    if [[ -e /var/lib/kubelet/config.yaml ]]; then
        args=(--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf
            --config=/var/lib/kubelet/config.yaml)
        # shellcheck source=/dev/null
        . /var/lib/kubelet/kubeadm-flags.env
        # shellcheck disable=SC2206
        args+=($KUBELET_KUBEADM_ARGS)
    fi
    # Other programs of the real machine use its kernel's settings too.
    setsid kubelet "${args[@]}" --kernel-tunables=leave </dev/null >>/var/log/kubelet.log 2>&1 &
    echo $! >$pid_file
}

case "$*" in
"start kubelet") start ;;
"stop kubelet") stop ;;
"restart kubelet") stop && start ;;
*is-active*kubelet*) runs ;;
*) ;; # daemon-reload, enable, is-enabled, status
esac
