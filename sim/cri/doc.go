// Package cri is a container runtime without containers: a CRI v1 server over
// real gRPC that keeps sandboxes, containers and images in memory and answers
// as containerd does.
//
// It owns what a kubelet can see of a runtime: states, attempts, timestamps,
// exit codes, reserved names, log files, events, images. It refuses what needs
// a kernel: the streaming Exec, Attach and PortForward and checkpoints answer
// Unimplemented. The suite in test/conformance holds it to the behaviour of a
// real containerd.
//
//	     client (bufconn or a socket)
//	       |
//	gate    connections; Crash and Recover close and open it
//	       |
//	Faults  per call: fail, delay, hang, lose the reply
//	       |
//	RPCs    sandbox_*.go, container_*.go, image.go
//	       |
//	truth   one mutex over sandboxes, containers, names, images
//	       |
//	Journal what happened and when; Snapshot: what is so now
//
// What a container does is written in its command, see program.go:
//
//	["exit", "3", "after", "2s"]   runs two seconds, then exits with code 3
//	["ignore-term"]                runs until SIGKILL
//
// Time is the time package's, so a test under testing/synctest with a bufconn
// listener runs on a fake clock. A running container costs no goroutine.
//
// Start reading at Server, then container_start.go.
package cri
