// Package script plays scenarios of one pod from text files. Beside each command it writes how the
// reconciler's pure core reacts: the actions that begin, what it waits for, and the status that
// readers see. The files in sim/testdata/scripts are read as stories and reviewed as diffs. After
// a change of behaviour they are rewritten with
//
//	go test ./sim/script -update
//
// A file is a list of blocks, with an empty line between them: comments, commands, "----" and the
// output. The commands are listed in commands.go.
//
//	commands ──▶ stage ──intake──▶ store ──Intend──▶ Track ──Next──▶ actions
//	               └── reply ok, fail, lost ──▶ sim.Machine ──See, Done──▶ Track
//
// The package has no goroutines and no clock: an action is answered when the script says so.
// Package sim plays many pods on the same machine, with chance in place of commands.
//
// Start reading at Play in file.go.
package script
