// Package auditfile keeps the lines of the audit log in a file, and reads them.
//
//	audit.log     lines are appended here, each by one write(2)
//	audit.log.1   the file before it, and so on up to the number of backups; the oldest is removed
//
// It does not know what a line says. Append either leaves the whole line in the file or returns an error: the caller
// refuses a request whose line cannot be kept. Nothing is synced. The lines survive a crash of the agent; a power cut
// may lose those of the last seconds, as many as the kernel had not written back.
//
// A write that fails leaves no part of its line. A part that a crash has left ends with the next line. The next Append
// opens the file again if it was moved or removed, so that a repaired disk needs no restart. Some space is reserved
// ahead: on a full disk the next few hundred lines still fit.
//
// After that AppendReserved still takes lines, for requests that free space: they wait in audit.log.spare, a file of a
// fixed size that overwrites its own oldest lines, and go to the log, in their order, with the next line that the disk
// takes. The log itself loses nothing: to fill a disk must not be a way to remove a trace.
//
// Followers read the latest lines from memory (recent.go). A follower that is too slow is told so.
//
// Start reading at File.Append in file.go.
package auditfile
