// Package cgroup keeps the part of the kernel's tree of cgroups that belongs to
// pods, with their limits.
//
//	kubepods                         what pods may have of the machine
//	├── pod<uid>                     a guaranteed pod
//	├── burstable
//	│   └── pod<uid>                 with the limits of package limit
//	│       └── <container>          made by the container runtime
//	└── besteffort
//	    └── pod<uid>
//
// The names are those of every kubelet. Where systemd owns the tree each of them is
// a slice, such as kubepods-burstable-pod<uid>.slice, and systemd is called too.
//
// No record is kept: the tree is the truth, so each function here may be repeated, and
// goes on where a crash has ended the last call. Nothing above kubepods is changed, except
// that controllers are switched on where version 2 needs it. Several nodes on one machine
// have different roots. If it is configured, the resources that the machine's owner has
// set aside for other programs are enforced too.
//
//	mounts.go        where the kernel shows its tree: version 1, or 2
//	name.go          what each cgroup is called
//	settings.go      limits in the form of the kernel's files
//	files.go         directories and files
//	systemd.go       slices, on top of these
//	remove.go        end what is left in a cgroup, and remove it
//	sweep.go         find and remove those of unknown pods
//	clean.go         remove all of them
//	reserved.go      cgroups of others
//	move.go          processes that are moved
//
// Start reading at Tree.SetUp in tree.go.
package cgroup
