// Package nodal holds the documents of the program, which a node shows at /docs. Pages for those who work on the node are
// left out: CONFORMANCE.md, which is a fourth of all and leads to the sources of tests, BENCHMARKS.md and WORDS.md.
//
//	documents_plain.go   a build takes them as they are
//	documents_packed.go  a release takes the archive that test/pack makes of them
package nodal
