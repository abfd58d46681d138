// Package embedded holds the container runtime that travels inside the kubelet:
// an archive of programs and its table of contents, and beside it the program of
// the pause image.
//
// Only a build with the tag bundle has them (with.go), and only `make bundle`
// makes the files that it needs. A build without the tag (without.go) works
// in a fresh clone and has no runtime of its own.
//
// What is in the archive is decided in host/runtime/bundle; what is done with
// it, in host/runtime. Here are bytes and nothing else.
package embedded
