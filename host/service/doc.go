// Package service makes a machine's systemd run the agent, and takes that back.
//
// Install and Uninstall look at the machine and return steps: plain values that
// print what they would do and do it when asked. So a dry run shows exactly what
// a real one does. Every step may be taken twice: after a list that was cut short, the
// next list completes it.
//
//	Install ─▶ /usr/local/bin/kubelet             a copy of the program
//	        ─▶ /usr/local/bin/nodal               a link to it, unless something else is there
//	        ─▶ /usr/local/share/man/man1/         its manual pages, unless others are there
//	        ─▶ /etc/nodal/config.yaml             the owner's from then on
//	        ─▶ /etc/systemd/system/kubelet.service
//	        ─▶ systemctl restart
//
// An update puts another program in place, and a unit of its own watches the agent that it starts:
//
//	kubelet.next      ─▶ /usr/local/bin/kubelet ─▶ as before? ─▶ done
//	kubelet.previous  ◀─ a copy of it                  └▶ no ─▶ put back
//
// kubelet.service and config.yaml, beside this file, are copied byte for byte. A foreign
// program or unit in those places is never overwritten: another kubelet may run the
// machine's pods.
package service
