// Package dist tests what `make dist` hands out, as somebody would use it who
// has nothing else: dist_test.go looks at the files, bare_test.go lets the one
// binary make a node of a root directory that holds nothing.
package dist
