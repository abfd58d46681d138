package rig

import (
	"strings"
)

// owned reports whether a process belongs to the slot: its command line or environment names our
// directory, its root file system lies in it, or it is in one of our cgroups.
func (s slot) owned(p process) bool {
	within := s.dir() + "/"
	return strings.Contains(p.command+" ", within) ||
		strings.Contains(p.environ, within) ||
		strings.Contains(p.root, within) ||
		strings.Contains(p.cgroups, s.cgroup()+"/") || strings.Contains(p.cgroups, s.cgroup()+"\n")
}

// remains returns everything of a slot that is still on the machine.
func remains(s slot) []string {
	var found []string
	for _, p := range processes() {
		if s.owned(p) {
			found = append(found, p.String())
		}
	}
	for _, point := range mountpoints() {
		if strings.HasPrefix(point, s.dir()+"/") {
			found = append(found, "mount "+point)
		}
	}
	for _, link := range links() {
		if s.ownedLink(link) {
			found = append(found, "network interface "+link)
		}
	}
	for _, dir := range cgroupDirs(s.cgroup()) {
		found = append(found, "cgroup "+dir)
	}
	if exists(s.dir()) {
		found = append(found, "directory "+s.dir())
	}
	return found
}
