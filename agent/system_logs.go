package agent

import (
	"nodal/agent/config"
	"nodal/host/nodelog"
	"nodal/server"
)

// machineLogs is the directory of the logs that the kubelet's path /logs/ serves.
const machineLogs = nodelog.Tree("/var/log")

// systemLogs returns the logs of the machine. runtime is the log of a container runtime that is the agent's own, or else
// empty.
func systemLogs(l config.Listen, runtime string) server.SystemLogs {
	journal := nodelog.Journal{Program: "journalctl", Dirs: []string{"/var/log/journal", "/run/log/journal"}}
	return server.SystemLogs{
		ByName:   nodelog.Logs{Journal: journal, Agent: nodelog.Own(), Runtime: runtime, Kernel: "/dev/kmsg"},
		Files:    machineLogs,
		Services: nodelog.Services{Journal: journal, Files: machineLogs},
		Off:      !l.SystemLogs, Query: l.SystemLogQuery,
	}
}
