// Package embedded holds the container runtime that travels inside the kubelet:
// an archive of programs and its table of contents, and beside it the program of
// the pause image.
//
// Only a build with the tag bundle has them (with.go), and only `make bundle`
// makes the files that it needs. A build without the tag (without.go) works
// in a fresh clone and has no runtime of its own.
//
// host/runtime/bundle decides what is in the archive, and host/runtime what is done with
// it. This package holds only the bytes.
package embedded
