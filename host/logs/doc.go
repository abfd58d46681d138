// Package logs reads the logs of containers and owns their directories. The runtime
// writes the files; this package renames, packs and removes them.
//
// One line of a log file looks like this, a timestamp, a stream, tags and text:
//
//	2026-01-02T15:04:05.123456789Z stdout F GET /index.html
//
// The tag F ends a line of the container; P says that more of the line follows
// in the next entry of the same stream. Docker's json-file lines are understood
// too. Other lines are skipped, so that one torn line does not hide the rest.
//
// Read prints a log. The bytes go through three small parts, each of which reuses one
// buffer, so that the cost of a line is a search and a copy:
//
//	source   reads blocks of a file and cuts them into lines    source.go
//	parser   finds timestamp, stream, tag and content           parse.go, clock.go
//	printer  filters, adds timestamps, counts, writes batches   printer.go
//
// tail.go finds where the last n lines begin, since.go where the lines since a time
// begin. follow.go stays with a log that is still written, across
// rotation and truncation, until its container is gone.
//
// # Rotation
//
// A Rotation renames a log that has grown too long, and packs or drops those renamed
// before (rotate.go, tidy.go). A log is all of its files: past.go finds those that
// were rotated away, and readers go through them in order, packed or not. No
// line is lost or printed twice by a rotation that happens meanwhile, or by one
// that a crash cut short.
//
// # What is kept
//
// With Kept a log outlives its run and its pod (kept.go): removing it moves its files below the same directory, under the
// name of the node. Package reconciler/gc decides which of these files go, and when; kept_files.go lists and removes
// them, files.go those of pods that are still there. listing.go does so again and again, and reads only what has changed.
//
// # What counts as a line
//
// Entries of both streams are printed in the order of the file. Where one stream
// cuts into a line of the other, so does the output. A line belongs to the
// place where it ends: the last n lines begin after the end of the one before
// them. Since compares each entry on its own. A search by time finds where to begin;
// times may go back by up to slack in a file.
//
// An entry longer than maxEntry is skipped like a malformed one; runtimes
// cut lines at 16 KiB.
//
// # Where logs lie
//
// A reader goes through the open directory of a container (place.go) and reads regular
// files alone that have no name elsewhere: a pod may have been given /var/log.
//
// Layout names the files as every Kubernetes log collector expects, makes the links by
// which collectors find them, and removes both without ever following a symbolic link
// below its roots. Start reading at Read in read.go, or at Layout in layout.go.
package logs
