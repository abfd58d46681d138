// Package machine runs parts of this machine as machines of their own, so that programs with fixed paths, ports and
// names run twice: each has its own files, mounts, network, processes, host name and cgroups.
//
//	m, err := machine.Start(machine.Config{Name: "node-b", Dir: dir, Programs: ...})
//	m.Command(ctx, "hostname")     // runs on it
//	m.Path("/etc/hosts")           // this file of it, from outside
//	machine.Connect(ctx, a, m, "192.0.2") // one cable between two machines
//	m.Stop()                       // nothing is left
//
// The files are those of this machine, and what the machine changes is in memory and goes with it. Only Config.Disk is
// on a disk: a container runtime needs one.
//
//	boot.sh    makes the machine, and is its first process
//	enter.sh   runs a command on it
package machine
