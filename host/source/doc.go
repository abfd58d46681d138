// Package source brings pods, and the objects that they use, in from outside the API: from a
// file or a directory of files (File), and from a URL (URL). Both turn manifests into static
// pods and objects and hand them to an intake, which decides what a delivery means.
//
//	directory ── stat ── read ──┐
//	  inotify, poll             ├─ static pods, objects ── publisher ──▶ intake.Sync
//	URL ──── GET every 20 s ────┘                             │
//	                                                          └──▶ board of sources, events
//
// One rule stands above all others: a source that cannot be read now never touches a
// running pod, nor an object. A file that is half written, unreadable or wrong keeps what
// came from it. So does a directory that is gone, and a server that does not answer.
// Only a manifest that is seen to be absent ends its pods and deletes its objects. Each fault
// stands on the board for as long as it lasts, and becomes one event when it begins.
//
// Reading is cheap when nothing happens: a stat for each file, one GET for a URL.
// Bytes that were seen before are not decoded again.
//
// Start reading at File.Run in file.go, then publish.go.
package source
