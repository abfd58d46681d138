// Package configfile tells when the files of the configuration have changed.
//
//	inotify, a look now and then ──▶ read all files ── differ, and rest ──▶ changed
//
// It reads the files only to compare them: package config decodes them. A change is told once two readings in a row
// find the same, so that a file which is being written is not taken for the new one. Files may be written in place,
// renamed over others, or stand behind symbolic links that are exchanged, as Kubernetes' volumes do it: all directories
// on the way to a file are watched.
//
// Start reading at Files.Watch.
package configfile
