// Package registry gives the node images without a registry elsewhere: it keeps
// imported images and serves them to the runtime as a registry would.
//
//	tarball ──Import──▶ stage ──commit──▶ Store ──Handler──▶ runtime pulls
//	pause ────Seed────▶   │                 ▲                    ▲
//	                      └ unwanted: gone  └ index.json         │
//	the user's hosts.toml ──WriteHosts──▶ the runtime's hosts.toml, ours first
//	                      └─────────────▶ the same without ours, to ask why a pull failed
//
// # On disk
//
// The store is an OCI image layout, so any tool that reads one reads it:
//
//	index.json      references in full (docker.io/library/nginx:1.25) to digests
//	blobs/sha256/   content, named by what it is
//	staging/        files of imports under way
//
// A blob is written aside, synced and renamed, and only then named by the index,
// which is replaced whole. So whatever a crash interrupts, a reference leads to
// all of its image or is not there. An image that is removed loses its names first.
// Open sweeps what a crash has left.
//
// # Trust
//
// A tarball comes from outside. Its paths never become paths on disk: a file is
// kept under its digest. Every digest that a tarball claims is checked, sizes and
// numbers are bounded, those that layers unpack to as well (unpacked.go), and the disk
// keeps a reserve. A name that runtimes would not take is refused. The handler asks for a token
// that only the runtime's configuration holds, since any process of the machine can
// connect to loopback, and not every process may read images.
//
// Start reading at Store.Import in import.go; tarball.go reads the stream,
// docker.go and oci.go make sense of it, and hosts.go leads the runtime here.
package registry
