// Package nodelog reads the logs of the machine: files beneath /var/log, systemd's journal, the kernel's log, and those
// of the agent and of its own container runtime.
//
//	Tree      tree.go      files and directories beneath one directory, for the kubelet's path /logs/
//	Services  services.go  what that path answers to a query: the journal, or files that are named after a service
//	Logs      logs.go      the logs by name, for the node's API:
//	  journal.go     runs journalctl
//	  kernel.go      reads /dev/kmsg where there is no journal
//	  file.go        reads and follows a file
//	  own.go         finds out where the agent's own log goes
//	  picker.go      cuts output into lines and passes on those that are wanted
//
// Nothing leads out of Tree: no symbolic link, and no file that is not a regular one. A caller's words reach journalctl
// only behind the name of an option, and never a shell. The program ends with its caller.
//
// Start reading at Logs.Read in logs.go.
package nodelog
