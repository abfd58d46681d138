// Package oom hears from the kernel's log which processes the kernel has killed for want of memory.
//
//	/dev/kmsg ──record──▶ report ──node.Kill──▶ caller
//
//	watch.go    reads the log, and notices messages that were overwritten before they were read
//	record.go   takes a record apart
//	report.go   joins the messages about one kill
//
// The kernel describes a kill in several messages. Which cgroup was at its limit, how high that limit is and what the
// victim is called stand in different ones, and the kernel leaves all but the last out if it kills too often. A process
// that no message describes is looked up by its number.
//
// Only the kernel's own messages count. Root in a container may write into the log too, but not in the kernel's name.
//
// A Log begins at the moment at which it is opened: kills from before were told by the agent before, and nothing says
// which of them. So a kill during a restart of the agent shows only in the status of its container.
//
// Start reading at Log.Watch.
package oom
